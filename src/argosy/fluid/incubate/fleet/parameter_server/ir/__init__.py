"""What is known of programs that are rewritten for servers."""
