import paddle.distributed.fleet as fleet
fleet.init()
fleet.is_worker()
