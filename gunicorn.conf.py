"""How gunicorn runs us: `gunicorn -c gunicorn.conf.py`, settings from the environment (LLAMA_ARG_MODEL=...).

`python app.py` reads this file too; its flags come on top.
"""

from pathlib import Path

from llama.cli.current import settings
from llama.cli.hooks import on_starting, post_fork, post_worker_init, when_ready, worker_exit  # noqa: F401 - gunicorn's
from llama.cli.server import options

wsgi_app = "llama.cli.wsgi:application()"
workers = 1  # one model, one process
worker_class = "gthread"
preload_app = False  # threads do not survive a fork
timeout = 120  # heartbeat of the worker's loop; no limit on streams
keepalive = 75  # longer than client pools and proxies keep theirs
max_requests = 0
limit_request_line = 8190
control_socket_disable = True
loglevel = "warning"
accesslog = None  # each request leaves a line of our own
if Path("/dev/shm").is_dir():
    worker_tmp_dir = "/dev/shm"

globals().update(options(settings()))
