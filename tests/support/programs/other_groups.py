"""Groups that aren't consumer groups of librdkafka, on a real broker, made by Kafka's own Java clients and requests."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from sandbox import Broker
from sandbox.jars import kafka_jars
from sandbox.java import java

# Kafka Streams isn't among the jars: its group and Connect's are made by the requests that their members send.
_SOURCE = """
import java.io.*;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.message.JoinGroupRequestData.*;
import org.apache.kafka.common.message.SyncGroupRequestData.*;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData.*;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.*;

public class Program {
    static String host;
    static int port;

    static AbstractResponse send(AbstractRequest request) throws Exception {
        RequestHeader header = new RequestHeader(request.apiKey(), request.version(), "other", 1);
        ByteBuffer bytes = request.serializeWithHeader(header);
        byte[] sent = new byte[bytes.remaining()];
        bytes.get(sent);
        try (Socket socket = new Socket(host, port)) {
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(sent.length);
            out.write(sent);
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] answer = new byte[in.readInt()];
            in.readFully(answer);
            AbstractResponse response = AbstractResponse.parseResponse(ByteBuffer.wrap(answer), header);
            if (response.errorCounts().keySet().stream().anyMatch(error -> error.code() != 0))
                throw new IllegalStateException(response.toString());
            return response;
        }
    }

    static void share(String group, String topic) {
        Map<String, Object> config = Map.of("bootstrap.servers", host + ":" + port, "group.id", group);
        var bytes = new org.apache.kafka.common.serialization.ByteArrayDeserializer();
        var consumer = new KafkaShareConsumer<byte[], byte[]>(config, bytes, bytes);
        consumer.subscribe(List.of(topic));
        for (int polls = 0; polls < 10; polls++) consumer.poll(Duration.ofMillis(100));
        consumer.close(Duration.ofSeconds(5));
    }

    static void streams(String group, String topic) throws Exception {
        var tasks = new Subtopology().setSubtopologyId("0").setSourceTopics(List.of(topic));
        var joining = new StreamsGroupHeartbeatRequestData()
            .setGroupId(group).setMemberId(Uuid.randomUuid().toString()).setMemberEpoch(0)
            .setRebalanceTimeoutMs(300000).setProcessId("process").setClientTags(List.of())
            .setActiveTasks(List.of()).setStandbyTasks(List.of()).setWarmupTasks(List.of())
            .setTopology(new Topology().setEpoch(1).setSubtopologies(List.of(tasks)));
        send(new StreamsGroupHeartbeatRequest.Builder(joining).build(ApiKeys.STREAMS_GROUP_HEARTBEAT.latestVersion()));
    }

    static void classic(String group, String type, String protocol) throws Exception {
        byte[] nothing = new byte[10];
        var one = new JoinGroupRequestProtocol().setName(protocol).setMetadata(nothing);
        var join = new JoinGroupRequestData().setGroupId(group).setProtocolType(type).setMemberId("")
            .setSessionTimeoutMs(300000).setRebalanceTimeoutMs(300000)
            .setProtocols(new JoinGroupRequestProtocolCollection(List.of(one).iterator()));
        var joined = ((JoinGroupResponse) send(new JoinGroupRequest.Builder(join).build((short) 3))).data();
        var assigned = new SyncGroupRequestAssignment().setMemberId(joined.memberId()).setAssignment(nothing);
        send(new SyncGroupRequest.Builder(new SyncGroupRequestData().setGroupId(group).setMemberId(joined.memberId())
            .setGenerationId(joined.generationId()).setAssignments(List.of(assigned))).build((short) 2));
        var member = new LeaveGroupRequestData.MemberIdentity().setMemberId(joined.memberId());
        send(new LeaveGroupRequest.Builder(group, List.of(member)).build((short) 2));
    }

    public static void main(String[] given) throws Exception {
        host = given[0].split(":")[0];
        port = Integer.parseInt(given[0].split(":")[1]);
        share(given[2], given[1]);
        streams(given[3], given[1]);
        classic(given[4], "connect", "sessioned");
        classic(given[5], "consumer", "stream");
        System.exit(0);
    }
}
"""


@dataclass(frozen=True)
class OtherGroups:
    """Names of a share group, a streams group (KIP-1071), one of Connect's workers, and a classic one of Streams."""

    share: str
    streams: str
    connect: str
    classic_streams: str

    @classmethod
    def start(cls, broker: Broker, topic: str, folder: Path) -> OtherGroups:
        """Let a member join each; all but that of the streams group, which times out after 45 s, leave again."""
        mark = uuid4().hex[:8]
        made = cls(*(f"{kind}-{mark}" for kind in ("share", "streams", "workers", "classic")))
        program = folder / "Program.java"
        program.write_text(_SOURCE)
        options = ["-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dlog4j2.level=OFF", "-cp", f"{kafka_jars()}/*"]
        names = [made.share, made.streams, made.connect, made.classic_streams]
        command = [str(java()), *options, str(program), broker.bootstrap, topic, *names]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stderr
        return made
