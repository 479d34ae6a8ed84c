vcl 4.1;

# Included by varnish.vcl: what depends on where the service runs.

import directors;

# The replicas, or the balancer in front of them.
backend replica1 {
    .host = "127.0.0.1";
    .port = "3000";
    .connect_timeout = 1s;
    # A replica that hangs is given up then, and another is asked.
    .first_byte_timeout = 5s;
    # A server that has just started asks at once, instead of responding with 503 until the first probe.
    .probe = { .url = "/readyz"; .interval = 1s; .timeout = 1s; .window = 3; .threshold = 2; .initial = 2; }
}

# The machines that the service runs on. Leave out those that forward requests of clients, such as a
# TLS proxy on this machine.
acl purgers {
    "127.0.0.1";
    "::1";
}

sub vcl_init {
    new replicas = directors.round_robin();
    replicas.add_backend(replica1);
}
