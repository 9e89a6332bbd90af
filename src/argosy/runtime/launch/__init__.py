"""Starting the processes of a job and looking after them."""
