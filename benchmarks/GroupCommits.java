import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;

/**
 * Commits of many groups by Kafka's own client, all in flight, and read back: BOOTSTRAP TOPIC GROUPS PARTITIONS OFFSET.
 *
 * Prints the seconds that it took, without the start of the JVM.
 */
public final class GroupCommits {
    public static void main(String[] words) throws Exception {
        int groups = Integer.parseInt(words[2]), partitions = Integer.parseInt(words[3]);
        var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
        for (int one = 0; one < partitions; one++) {
            offsets.put(new TopicPartition(words[1], one), new OffsetAndMetadata(Long.parseLong(words[4])));
        }
        try (var admin = Admin.create(Map.of("bootstrap.servers", words[0]))) {
            admin.describeCluster().clusterId().get();
            var began = System.nanoTime();
            var commits = new ArrayList<KafkaFuture<Void>>();
            for (int one = 0; one < groups; one++) {
                commits.add(admin.alterConsumerGroupOffsets("group-" + one, offsets).all());
            }
            for (var commit : commits) {
                commit.get();
            }
            var reads = new ArrayList<KafkaFuture<Map<TopicPartition, OffsetAndMetadata>>>();
            for (int one = 0; one < groups; one++) {
                reads.add(admin.listConsumerGroupOffsets("group-" + one).partitionsToOffsetAndMetadata());
            }
            for (var read : reads) {
                if (!read.get().equals(offsets)) {
                    throw new IllegalStateException("other offsets are stored");
                }
            }
            System.out.println((System.nanoTime() - began) / 1e9);
        }
    }
}
