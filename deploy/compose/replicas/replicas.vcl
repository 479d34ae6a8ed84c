vcl 4.1;

# deploy/replicas.vcl with the addresses of compose.yaml.

import directors;

backend replica1 {
    .host = "172.28.24.11";
    .port = "3000";
    .connect_timeout = 1s;
    .first_byte_timeout = 5s;
    .probe = { .url = "/readyz"; .interval = 1s; .timeout = 1s; .window = 3; .threshold = 2; .initial = 2; }
}

backend replica2 {
    .host = "172.28.24.12";
    .port = "3000";
    .connect_timeout = 1s;
    .first_byte_timeout = 5s;
    .probe = { .url = "/readyz"; .interval = 1s; .timeout = 1s; .window = 3; .threshold = 2; .initial = 2; }
}

backend replica3 {
    .host = "172.28.24.13";
    .port = "3000";
    .connect_timeout = 1s;
    .first_byte_timeout = 5s;
    .probe = { .url = "/readyz"; .interval = 1s; .timeout = 1s; .window = 3; .threshold = 2; .initial = 2; }
}

acl purgers {
    "172.28.24.11";
    "172.28.24.12";
    "172.28.24.13";
}

sub vcl_init {
    new replicas = directors.round_robin();
    replicas.add_backend(replica1);
    replicas.add_backend(replica2);
    replicas.add_backend(replica3);
}
