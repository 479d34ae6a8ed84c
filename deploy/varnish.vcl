vcl 4.1;

# Varnish in front of the service, with CDN=varnish: caches by Surrogate-Control, and purges by tag.
# Needs varnish-modules. docs/how-to/purge-a-cdn.md describes the service's side.

import std;
import xkey;

# The replicas, and the machines that may purge: edit that file.
include "./replicas.vcl";

sub vcl_recv {
    if (req.method == "PURGE") {
        if (client.ip !~ purgers) {
            return (synth(405, "Not allowed"));
        }
        return (synth(200, xkey.purge(req.http.xkey-purge) + " purged"));
    }
    # Only this server may set it.
    unset req.http.xkey-purge;
    # The service reads neither. Varnish would pass such requests on, uncached.
    unset req.http.Cookie;
    unset req.http.Authorization;
    set req.backend_hint = replicas.backend();
    # Expired responses are served while no replica has a new one, and otherwise only for ten seconds.
    set req.grace = 365d;
    if (req.restarts == 0 && std.healthy(req.backend_hint)) {
        set req.grace = 10s;
    }
    unset req.http.Last-Attempt;
    if (req.restarts == 2 || (req.method != "GET" && req.method != "HEAD")) {
        set req.http.Last-Attempt = "yes";
    }
}

sub vcl_synth {
    # An expired response is served, or another replica is asked.
    if (resp.status == 503 && !req.http.Last-Attempt) {
        return (restart);
    }
    set resp.http.Content-Type = "text/plain";
    set resp.body = resp.reason + {"
"};
    return (deliver);
}

sub vcl_backend_response {
    # The store cannot be reached. An expired response here would be lost if this one were delivered.
    if (beresp.status == 503 && (bereq.is_bgfetch || !bereq.http.Last-Attempt)) {
        return (abandon);
    }
    # The service adds Surrogate-Control to every response that may be cached.
    if (beresp.http.Surrogate-Control ~ "no-store") {
        # For a second, requests do not wait for each other. The next response may be cached again.
        set beresp.uncacheable = true;
        set beresp.ttl = 1s;
        set beresp.grace = 0s;
    } elsif (beresp.http.Surrogate-Control ~ "max-age=[0-9]+") {
        set beresp.ttl = std.duration(regsub(beresp.http.Surrogate-Control, "^.*max-age=([0-9]+).*$", "\1") + "s", 0s);
        set beresp.grace = 0s;
        if (beresp.http.Surrogate-Control ~ "stale-if-error=[0-9]+") {
            set beresp.grace = std.duration(regsub(beresp.http.Surrogate-Control, "^.*stale-if-error=([0-9]+).*$", "\1") + "s", 0s);
        }
    }
}

sub vcl_backend_error {
    # The director picks another replica.
    if (bereq.retries < 2) {
        return (retry);
    }
    if (bereq.is_bgfetch || !bereq.http.Last-Attempt) {
        return (abandon);
    }
    set beresp.ttl = 0s;
    set beresp.grace = 0s;
}

sub vcl_deliver {
    unset resp.http.Surrogate-Control;
    unset resp.http.xkey;
}
