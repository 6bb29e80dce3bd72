import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { ConfigError } from './config/config.js';

/**
 * Checks that several servers can listen on the same port. It starts two, because Node versions without the option
 * ignore it, and the second process would then fail with EADDRINUSE.
 *
 * @param host the address to listen on.
 * @throws ConfigError if they can't.
 */
export async function assertPortCanBeReused(host: string): Promise<void> {
  const servers: Server[] = [];
  const listen = async (port: number): Promise<number> => {
    const server = createServer();
    servers.push(server);
    server.listen({ host, port, reusePort: true } as object);
    await once(server, 'listening');
    return (server.address() as { port: number }).port;
  };
  try {
    await listen(await listen(0));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new ConfigError([
      `REUSE_PORT does not work here (${code}): it needs Linux and Node 23.1 or later; this is ${process.platform} and Node ${process.version}`,
    ]);
  } finally {
    servers.forEach((server) => server.close());
  }
}
