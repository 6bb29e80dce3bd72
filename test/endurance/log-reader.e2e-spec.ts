import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { makeTempFolder } from '../../tools/support/processes.mjs';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aRequest } from '../support/raw.js';
import { assertNoSecrets } from '../support/log-secrets.js';

/** Enough log lines of about 200 bytes to exceed the 64 KiB that a pipe holds. */
const REQUESTS = 2000;
/** The level at which successful health checks are logged. */
const ENV = { LOG_LEVEL: 'debug' };
const AT_ONCE = 20;
const PIPELINED = 10;

describe('the log of the build without a reader', () => {
  let database: TestDatabase;
  let folder: string;
  let pipe: string;
  let service: BuiltService;

  beforeAll(async () => {
    database = await createMigratedDatabase();
  });
  beforeEach(async () => {
    folder = makeTempFolder('cashback-log');
    // A named pipe, as in a shell. Node gives child processes a socket, which buffers megabytes.
    pipe = path.join(folder, 'log');
    execFileSync('mkfifo', [pipe]);
    // Open the pipe for reading and writing, because opening it only for writing would wait for a reader.
    const stdout = openSync(pipe, 'r+');
    service = await startBuiltService(database.url, ENV, stdout);
    closeSync(stdout);
  });
  afterEach(async () => {
    await service.kill();
    rmSync(folder, { recursive: true });
  });
  afterAll(() => database.drop());

  async function ask(route: string, requests: number): Promise<number[]> {
    const client = new Client(service);
    const statuses = new Set<number>();
    for (let asked = 0; asked < requests; asked += AT_ONCE) {
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => client.get(route)));
      for (const { status } of answers) statuses.add(status);
    }
    return [...statuses];
  }

  /** Sends many requests over a few connections, several at a time on each, which is fast. */
  async function pipeline(route: string, requests: number, headers: Record<string, string>): Promise<void> {
    const { hostname, port } = new URL(service.url);
    const batch = Buffer.concat(
      Array<Buffer>(PIPELINED).fill(aRequest(`GET ${route}`, { ...headers, connection: 'keep-alive' })),
    );
    const share = requests / AT_ONCE;
    const sendShare = async (): Promise<void> => {
      const socket = connect(Number(port), hostname);
      for (let answered = 0; answered < share;) {
        if (answered % PIPELINED === 0) socket.write(batch);
        const [chunk] = (await once(socket, 'data')) as [Buffer];
        answered += chunk.toString('latin1').split('HTTP/1.1 ').length - 1;
      }
      socket.destroy();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sendShare));
  }

  /** Reads the log until the lines satisfy the predicate. */
  async function readUntil(isComplete: (lines: string[]) => boolean): Promise<string[]> {
    let text = '';
    const reader = spawn('cat', [pipe]);
    reader.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    for (let attempt = 0; attempt < 200 && !isComplete(text.split('\n')); attempt++) await sleep(50);
    reader.kill();
    assertNoSecrets(text);
    return text.split('\n');
  }
  const linesOf = (route: string, lines: string[]): number =>
    lines.filter((line) => line.includes(`"route":"${route}"`)).length;

  it('requests are answered while nobody reads the log, and no line is lost when reading resumes', async () => {
    expect(await ask('/health/live', REQUESTS)).toEqual([200]);
    const lines = await readUntil((soFar) => linesOf('/health/live', soFar) >= REQUESTS);
    expect(linesOf('/health/live', lines)).toBe(REQUESTS);
  });

  it('log lines that exceed the buffer are dropped, and their number is logged', async () => {
    // The request ID is the only part of a log line that the client can make longer.
    const requests = 60_000;
    await pipeline('/health/live', requests, { 'x-request-id': 'x'.repeat(128) });
    const lines = await readUntil((soFar) =>
      soFar.some((line) => line.includes('log_lines_dropped') && line.endsWith('}')),
    );
    const report = lines.find((line) => line.includes('log_lines_dropped'));
    expect(linesOf('/health/live', lines) + (JSON.parse(report ?? '{}') as { lines: number }).lines).toBe(requests);
  }, 600_000);

  it('a full disk loses log lines but does not affect requests', async () => {
    const full = openSync('/dev/full', 'w');
    const disk = await startBuiltService(database.url, ENV, full);
    closeSync(full);
    try {
      const client = new Client(disk);
      for (let round = 0; round < 5; round++) {
        expect((await client.get('/health/live')).status).toBe(200);
        await sleep(200);
      }
      expect(await disk.stop()).toBe(0);
    } finally {
      await disk.kill();
    }
  });

  it('the last log lines are written before the process exits', async () => {
    const reading = readUntil((soFar) => linesOf('/health/live', soFar) >= AT_ONCE);
    await ask('/health/live', AT_ONCE);
    expect(await service.stop()).toBe(0);
    expect(linesOf('/health/live', await reading)).toBe(AT_ONCE);
  });
});
