import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.MirrorClient;

/**
 * Translated offsets by MirrorMaker 2's own client: BOOTSTRAP ALIAS [GROUP...].
 *
 * A line for each group that is named, asked for by itself, or one for all groups, asked for by a pattern: how many
 * partitions, the sum of their offsets, and the seconds that the call took.
 */
public final class MirrorOffsets {
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    public static void main(String[] words) {
        try (var client = new MirrorClient(Map.of("bootstrap.servers", words[0]))) {
            var groups = Arrays.copyOfRange(words, 2, words.length);
            for (var group : groups) {
                var began = System.nanoTime();
                tell(Map.of(group, client.remoteConsumerOffsets(group, words[1], PATIENCE)), began);
            }
            if (groups.length == 0) {
                var began = System.nanoTime();
                tell(client.remoteConsumerOffsets(Pattern.compile(".*"), words[1], PATIENCE), began);
            }
        }
    }

    private static void tell(Map<String, Map<TopicPartition, OffsetAndMetadata>> found, long began) {
        var seconds = (System.nanoTime() - began) / 1e9;
        long partitions = 0, sum = 0;
        for (var offsets : found.values()) {
            for (var one : offsets.values()) {
                partitions++;
                sum += one.offset();
            }
        }
        System.out.println(partitions + " " + sum + " " + seconds);
    }
}
