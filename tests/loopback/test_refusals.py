# SPDX-License-Identifier: MIT
"""What cannot be run is refused in one line: words that are wrong, and words that this machine or a
part of uncork does not support. What excludes what is in test_exclusions.py."""

from __future__ import annotations

import pytest

from combinations import LIBRARIES, names
from programs import client_run, trouble

PEER = "peer=127.0.0.1:7 control=none"
SEED = "rate=1000 arrival=poisson arrival_seed"
SPINS = "sched=fifo:5 rate=1000 pace=spin duration=20ms warmup=0s"
OWN_CPU = "pace=spin needs a CPU of its own: with client.sched=fifo:5"
ONE_THREAD = "only one thread may use a TLS session"
MAPPED = "pages that arrived cannot be mapped"
WRONG = [
    "mesage=64", "message=15x", "message=x2", "message=0x2", "message=-1", "message=1e99",
    "message=", "message=64,128", "write=corc", "write=nodelay:64K", "write=cork:x", "duration=1",
    "duration=2s bytes=1M", "messages=5 bytes=1M", "connections=0", "connections=10001",
    "message=64 message=64", "client.message=64", "chunk=0", "verify=on read=msgtrunc",
    "touch=checksum server.read=msgtrunc", "direction=receive", "workload=stream reply=4",
    "transport=unix congestion=cubic", "workload=stream chunk=4K server.chunk=1K",
    "chunk=4K client.chunk=1K server.chunk=2K", "transport=null server=127.0.0.1:1", "place=1-2",
    "place=1.2/", "rounds=5", "server=localhost", "--jsn", "word", "--batch",
    "--batch /nowhere/file", "--batch - --with-parent=x", "--json --with-parent=9999",
    "--json --with-parents", "--pcap x --json x capture=on", "--list=xml", "lab=on",
    "--facts lab=on", "lab=on server=127.0.0.1:7", "link_rate=1gbit", "transport=unix lab=on",
    "--server-in", "--server-in 127.0.0.1 lab=on", "--server-in unix:/tmp@/proc/self/ns/net lab=on",
    "--server-in 127.0.0.1@/proc/self/ns/net", "--server-in 0.0.0.0@/proc/self/ns/net lab=on",
    "--proxy-in", "--proxy-in 127.0.0.1 lab=on workload=proxy",
    "--proxy-in 127.0.0.1@/nonexistent workload=proxy",
    "--server-in 127.0.0.1@/nonexistent lab=on workload=proxy",
    "--server-in 127.0.0.1@/nonexistent --proxy-in 127.0.0.1@/nonexistent lab=on",
    "--server-in 127.0.0.1@/proc/self/ns/net --list", "--expand message=64..1M:1",
    "--expand message=1M..64", "--expand write=a..b"]
SAYS = {
    "mesage=4": "'message'",
    "wirte=cork": "'write'",
    "write=crok": "'cork'",
    **{word: word.partition("=")[0] for word in (
        "sndbuf=lots", "sndbuf=0", "rcvbuf=-1", "rcvbuf=4G", "buffers=during sndbuf=4K",
        "quickack=on", "busy_poll=3", "busy_poll=2s", "notsent_lowat=0", "congestion=Not/Any")},
    **{f"sched={value}": "write other, rr:N or fifo:N"
       for value in ("rr", "rr:0", "rr:100", "batch", "fifo:x", "other:1", "")},
    "peer=nowhere control=none": "HOST:PORT",
    "peer=unix:/tmp/x control=none": "transport=tcp",
    f"{PEER} reply=5": "'reply' has no effect",
    f"{PEER} server=127.0.0.1:8": "'server' has no effect",
    "protocol=nbd op=get:4K": "no such request; the nearest is 'read'",
    "protocol=nbd op=read:40M": "from 1 to 32M",
    "protocol=nbd op=read": "read needs a size; write read:4K",
    "protocol=resp op=ping:3": "ping has no payload; write ping without a size",
    "--pcap": "'--pcap' needs a value",
    "--pcap \udcff capture=on": "--pcap: the name of the file is not valid UTF-8",
    "--pcap x --pcap y capture=on": "--pcap is given twice, but a run makes one file",
    "transport=unix capture=on": "'capture' has no effect with these other words; leave it out",
    "capture=yes": "capture",
    f"{SEED}=0": "arrival_seed=0 is out of range: 1 to 9007199254740992",
    f"{SEED}=9007199254740993": "is out of range: 1 to 9007199254740992",
    f"{SEED}=any": "arrival_seed=any is not a valid count; write",
    "rate=1000 arrival_seed=7": "'arrival_seed' has no effect with these other words",
    **{f"workload=proxy {word}": "has no effect" for word in (
        "message=64", "reply=1", "depth=2", "client.chunk=4K", "server.read=recv", "source=hot",
        "reply_write=cork", "client.nodelay=off")},
    "write=uring-bundle:32769": "a size from 1 to 32K must follow the colon",
    "write=uring-send single_issuer=off":
        "uncork-client: defer_taskrun=on needs single_issuer=on; write both off\n",
    **{f"{key}={value}": f"'{key}' is for a lab: uncork run ... lab=on {key}=... makes one\n"
       for key, value in (("link_rate", "1gbit"), ("sysctl", "net.ipv4.tcp_sack:0"))},
}


@pytest.mark.parametrize(("words", "says"), [*((words, "") for words in WRONG), *SAYS.items()])
def test_wrong_words_are_one_line_that_says_why(words: str, says: str) -> None:
    done = client_run(*words.split())
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("uncork-client: ") and done.stderr.count("\n") == 1
    assert says in done.stderr


UNSUPPORTED = {
    "congestion=nosuch": "congestion=nosuch is not available here; sysctl "
                         "net.ipv4.tcp_available_congestion_control",
    "place=9999/9999": "CPU 9999",
    "handoff=thread client.engine=ring": "engine=ring cannot carry handoff=thread",
    "handoff=thread write=uv": "cannot carry handoff=thread",
    "handoff=thread depth=2": "engine=block cannot carry depth=2",
    "handoff=thread security=openssl": ONE_THREAD,
    "write=sendfile engine=ring": "",  # no flag against blocking, or no ring
    "write=zerocopy transport=unix": "does not come back",
    "write=zerocopy security=gnutls": "takes no flags and no vectors",
    "read=zerocopy transport=unix": MAPPED,
    "read=zerocopy transport=null": MAPPED,
    "read=zerocopy security=gnutls": "takes no flags and no vectors",
    "write=cork:record": "there is no TLS record layer to cork",
    "security=gnutls transport=unix write=cork:segment": "a cork holds nothing back",
    "security=gnutls read=msgtrunc": "takes no flags and no vectors",
    **{f"security={library} write={write}": "takes no flags and no vectors"
       for library in LIBRARIES
       for write in ("more", "writev", "uv engine=poll", "sendfile", "zerocopy")},
    **{f"security={library} write={write}": ""  # the same, or there is no ring
       for library in LIBRARIES
       for write in names("strategy") if write.startswith("uring-")},
    **{f"{SPINS} {words}": OWN_CPU for words in (
        "place=together", "place=0/0", "place=0/0.0 server.sched=other",
        "place=0/0 server.sched=fifo:4", "client.threads=3 connections=3 place=0/1")},
}


@pytest.mark.parametrize(("words", "says"), UNSUPPORTED.items())
def test_what_is_not_supported_is_known_before_the_run(words: str, says: str) -> None:
    reason = trouble(words)
    assert reason and says in reason, reason
