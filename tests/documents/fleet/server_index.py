import paddle.distributed.fleet as fleet
fleet.init()
fleet.server_index()
