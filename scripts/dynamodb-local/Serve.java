import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBRequestHandler;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBServerHandler;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** DynamoDB Local in memory, on a free port of loopback: its own main class listens on every address. */
class Serve {
  public static void main(String[] args) throws Exception {
    var requests = new LocalDynamoDBRequestHandler(0, true, null, true, false);
    var handler = new LocalDynamoDBServerHandler(requests, null);
    var server = new Server(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    server.setHandler(new DynamoDBProxyServer(0, handler).setUpHandler(handler));
    server.start();
    System.out.println("http://127.0.0.1:" + ((ServerConnector) server.getConnectors()[0]).getLocalPort());
    server.join();
  }
}
