import { Redis } from 'ioredis';
import { startGuarded } from '../../tools/support/guarded-process.mjs';
import { findFreePort } from '../../tools/support/ports.mjs';
import { run } from '../../tools/support/processes.mjs';

/** Whether the redis-server program is available. `npm test` does not require it. */
export const hasRedis = (await run('redis-server', ['--version'], { timeoutMs: 10_000 })).ok;

const OPTIONS = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--daemonize', 'no'];

/** A private Redis server on a free local port, without persistence. Tests can stop it. */
export interface RedisServer {
  url: string;
  port: number;
  /** Sends SIGSTOP: connections stay open, but nothing is answered. */
  pause: () => Promise<void>;
  /** Sends SIGCONT. */
  resume: () => void;
  stop: () => Promise<void>;
}

/** @param port of an earlier server that is restarted; the default is a free port */
export async function startRedis(port?: number): Promise<RedisServer> {
  const ownPort = port ?? (await findFreePort());
  const running = await startGuarded({
    command: 'redis-server',
    args: ['--port', String(ownPort), ...OPTIONS],
    output: 'pipe',
  });
  let output = '';
  running.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const stop = (): Promise<void> => running.end(5000);
  try {
    await Promise.race([untilAnswered(ownPort), running.exited.then(() => Promise.reject(new Error('it exited')))]);
  } catch (error) {
    await stop();
    throw new Error(`redis-server did not start (${String(error)}):\n${output}`, { cause: error });
  }
  return {
    url: `redis://127.0.0.1:${ownPort}`,
    port: ownPort,
    pause: running.pause,
    resume: running.resume,
    stop,
  };
}

async function untilAnswered(port: number): Promise<void> {
  const client = new Redis(port, '127.0.0.1', { retryStrategy: () => 50, maxRetriesPerRequest: 200 });
  // Wait until the server listens. If it does not, the command below fails.
  client.on('error', () => undefined);
  await client.ping().finally(() => client.disconnect());
}
