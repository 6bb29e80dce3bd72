import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, freePort, startBuiltService } from '../support/built-service.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { testEnvironment } from '../support/service.js';

/** Whether two servers of this Node version can listen on the same port. */
async function canReusePort(): Promise<boolean> {
  const servers: Server[] = [];
  try {
    const listen = async (port: number): Promise<number> => {
      const server = createServer();
      servers.push(server);
      server.listen({ host: '127.0.0.1', port, reusePort: true } as object);
      await once(server, 'listening');
      return (server.address() as { port: number }).port;
    };
    await listen(await listen(0));
    return true;
  } catch {
    return false;
  } finally {
    servers.forEach((server) => server.close());
  }
}

const isSupported = await canReusePort();

describe('REUSE_PORT', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createMigratedDatabase();
  });
  afterAll(() => database.drop());

  /** Runs the build and waits until it exits. */
  async function outputOfStart(env: Record<string, string>): Promise<{ code: number | null; output: string }> {
    const child = spawn(process.execPath, ['dist/src/main.js'], {
      env: { PATH: process.env.PATH, ...testEnvironment(database.url), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await once(child, 'close');
    return { code: child.exitCode, output };
  }

  /** Checks that two processes serve the port and that one still serves it after the other has shut down. */
  async function expectSharedPort(env: Record<string, string>): Promise<void> {
    const services: BuiltService[] = [await startBuiltService(database.url, env)];
    try {
      services.push(await startBuiltService(database.url, env));
      await services[1]?.listening();
      expect(await services[0]?.stop()).toBe(0);
      expect((await fetch(`${services[1]?.url}/health/ready`)).status).toBe(200);
    } finally {
      await Promise.all(services.map((service) => service.stop()));
    }
  }

  async function expectRefusal(env: Record<string, string>): Promise<void> {
    const { code, output } = await outputOfStart(env);
    expect(code).toBe(1);
    expect(output).toMatch(/REUSE_PORT does not work here \(\w+\): it needs Linux and Node 23\.1 or later/);
  }

  it(`REUSE_PORT=true ${isSupported ? 'lets two processes serve the same port' : 'prevents startup with a clear error on this platform'}`, async () => {
    const env = { REUSE_PORT: 'true', PORT: String(await freePort()) };
    await (isSupported ? expectSharedPort(env) : expectRefusal(env));
  });

  it('without REUSE_PORT, a second process cannot start on a port that is in use', async () => {
    const service = await startBuiltService(database.url);
    try {
      const { code, output } = await outputOfStart({ PORT: new URL(service.url).port });
      expect(code).not.toBe(0);
      expect(output).toContain('EADDRINUSE');
    } finally {
      await service.stop();
    }
  });
});
