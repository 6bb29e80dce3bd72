import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { type Guarded, startGuarded } from '../../tools/support/guarded-process.mjs';
import { makeTempFolder, PROJECT, run } from '../../tools/support/processes.mjs';
import { freePort } from '../support/built-service.js';
import { deliver, type Receiver, startReceiver } from '../support/receiver.js';
import { describeIf } from '../support/requirements.js';
import { useService } from '../support/use-service.js';
import type { Endpoint, EndpointWithSecret, EventPage, FeedEvent } from '../support/shop.js';

const PAGE = readFileSync('docs/events.md', 'utf8');
const MINUTE = 60;

interface Language {
  name: string;
  /** The language of the block. */
  fence: string;
  file: string;
  /** Returns the command that runs the file in its folder. */
  command: (port: number) => string[];
  /** What must exist. */
  program: string;
}

const LANGUAGES: Language[] = [
  {
    ...{ name: 'TypeScript', fence: 'ts', file: 'receiver.ts', program: process.execPath },
    command: () => [process.execPath, 'receiver.js'],
  },
  {
    ...{ name: 'Python', fence: 'python', file: 'receiver.py', program: 'python3' },
    command: () => ['python3', 'receiver.py'],
  },
  {
    ...{ name: 'PHP', fence: 'php', file: 'receiver.php', program: 'php' },
    command: (port) => ['php', '-S', `127.0.0.1:${port}`, 'receiver.php'],
  },
];

/** @throws if the page does not have exactly one block of the language. */
function blockOf(fence: string): string {
  const blocks = [...PAGE.matchAll(new RegExp(`^\`\`\`${fence}\n(.*?)^\`\`\`$`, 'gms'))];
  if (blocks.length !== 1) throw new Error(`docs/events.md has ${blocks.length} blocks in ${fence}`);
  return blocks[0]![1]!;
}

/** A program of the page, as a reader would run it. */
interface Program {
  url: string;
  /** What it has printed. */
  printed(): string;
  end(): Promise<void>;
}

/** Compiles strictly, so that the types of the page are checked too. */
async function compile(folder: string): Promise<void> {
  symlinkSync(path.join(PROJECT, 'node_modules'), path.join(folder, 'node_modules'));
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  const options = [
    '--ignoreConfig',
    '--strict',
    '--skipLibCheck',
    '--target',
    'es2023',
    '--module',
    'nodenext',
    '--types',
    'node',
  ];
  const tsc = path.join(PROJECT, 'node_modules/typescript/bin/tsc');
  const { ok, output } = await run(process.execPath, [tsc, ...options, path.join(folder, 'receiver.ts')]);
  if (!ok) throw new Error(output);
}

async function startProgram({ fence, file, command }: Language, secret: string): Promise<Program> {
  const folder = makeTempFolder('cashback-receiver');
  const port = await freePort();
  const log = path.join(folder, 'log');
  writeFileSync(path.join(folder, file), blockOf(fence).replace('8080', String(port)));
  if (fence === 'ts') await compile(folder);
  // The programs run in their folder, as the page shows them.
  const started: Guarded = await startGuarded({
    command: '/bin/sh',
    args: ['-c', 'cd "$0" && exec "$@"', folder, ...command(port)],
    env: { ...process.env, WEBHOOK_SECRET: secret },
    output: { file: log },
    litter: folder,
  });
  const program = {
    url: `http://127.0.0.1:${port}/webhooks`,
    printed: () => readFileSync(log, 'utf8'),
    end: async () => {
      await started.end(5000);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  for (let attempt = 0; attempt < 2000 && !started.hasExited(); attempt++) {
    if (await fetch(program.url, { method: 'POST', body: '{}' }).then(Boolean, () => false)) return program;
    await sleep(50);
  }
  const printed = program.printed();
  await program.end();
  throw new Error(`the program of the page did not start:\n${printed}`);
}

const exists = ({ program }: Language): boolean => spawnSync(program, ['--version']).status === 0;

for (const language of LANGUAGES) {
  const { name } = language;
  const describeLanguage = describeIf(
    exists(language),
    `the ${name} code of docs/events.md, because ${language.program} is missing`,
  );
  describeLanguage(`the ${name} code of docs/events.md`, () => {
    const { service, merchant } = useService();
    let recorder: Receiver;
    let program: Program;
    let endpoint: { id: string; secret: string };
    /** A delivery of the service, as it arrived. */
    let sent: { headers: Record<string, string>; body: string };

    beforeAll(async () => {
      recorder = await startReceiver();
      endpoint = (await merchant.client.post<EndpointWithSecret>('/webhook-endpoints', { url: recorder.url })).body;
      await merchant.completed();
      await deliver(service);
      const { headers, raw } = recorder.received[0]!;
      const names = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature'];
      sent = { headers: Object.fromEntries(names.map((one) => [one, headers[one] as string])), body: raw };
      program = await startProgram(language, endpoint.secret);
      await merchant.client.put(`/webhook-endpoints/${endpoint.id}`, { url: program.url });
    });
    afterAll(async () => {
      await program?.end();
      await recorder?.stop();
    });

    /** Sends to the program. @returns the status. */
    const post = async (headers: Record<string, string>, body: string): Promise<number> =>
      (await fetch(program.url, { method: 'POST', headers: { ...sent.headers, ...headers }, body })).status;

    /** Completes an order, and expects that the program accepts its event from the service. */
    async function expectAccepted(): Promise<void> {
      const { id } = await merchant.completed();
      await deliver(service);
      const { body } = await merchant.client.get<Endpoint>(`/webhook-endpoints/${endpoint.id}`);
      expect(body).toMatchObject({ behind: 0, failures: 0, last_attempt: { status: 204 } });
      const event = (await merchant.client.get<FeedEvent>(`/events/${body.last_attempt?.event_id}`)).body;
      expect(event.data.order?.id).toBe(id);
      expect(program.printed()).toContain(`${event.id} order.completed`);
    }

    /** Returns the headers of a delivery that was signed with a secret at another time. */
    function signed(secret: string, secondsAgo: number): Record<string, string> {
      const at = new Date(Date.now() - secondsAgo * 1000);
      const id = sent.headers['webhook-id']!;
      return {
        'webhook-timestamp': String(Math.floor(+at / 1000)),
        'webhook-signature': new Webhook(secret).sign(id, at, sent.body),
      };
    }

    it(`the ${name} code of docs/events.md accepts what the service sends`, async () => {
      expect(await post({}, sent.body)).toBe(204);
      await expectAccepted();
    });

    it(`the ${name} code of docs/events.md refuses a delivery whose body, ID, time or signature was changed`, async () => {
      const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = sent.headers;
      const printed = program.printed().split(id!).length;
      const statuses = {
        body: await post({}, sent.body.replace('"pending"', '"cancelled"')),
        whitespace: await post({}, `${sent.body} `),
        id: await post({ 'webhook-id': id!.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }, sent.body),
        timestamp: await post({ 'webhook-timestamp': String(Number(at) + 1) }, sent.body),
        signature: await post({ 'webhook-signature': signature!.replace(/,..../, ',AAAA') }, sent.body),
        version: await post({ 'webhook-signature': signature!.replace('v1,', 'v2,') }, sent.body),
        part: await post({ 'webhook-signature': signature!.slice(0, -4) }, sent.body),
        none: await post({ 'webhook-signature': '' }, sent.body),
        wrongSecret: await post(signed(`whsec_${Buffer.alloc(32, 7).toString('base64')}`, 0), sent.body),
      };
      expect(Object.entries(statuses).filter(([, status]) => status !== 400)).toEqual([]);
      expect(program.printed().split(id!)).toHaveLength(printed);
    });

    it(`the ${name} code of docs/events.md refuses a delivery without the headers of the signature`, async () => {
      const response = await fetch(program.url, { method: 'POST', body: sent.body });
      expect(response.status).toBe(400);
    });

    it(`the ${name} code of docs/events.md refuses a delivery whose time differs by more than 5 minutes`, async () => {
      expect(await post(signed(endpoint.secret, 4 * MINUTE), sent.body)).toBe(204);
      expect(await post(signed(endpoint.secret, -4 * MINUTE), sent.body)).toBe(204);
      expect(await post(signed(endpoint.secret, 6 * MINUTE), sent.body)).toBe(400);
      expect(await post(signed(endpoint.secret, -6 * MINUTE), sent.body)).toBe(400);
    });

    it(`the ${name} code of docs/events.md accepts the ping of the service`, async () => {
      const { body } = await merchant.client.post<{ event_id: string }>(`/webhook-endpoints/${endpoint.id}/ping`);
      expect(body).toMatchObject({ status: 204, error: null });
      expect(program.printed()).toContain(`${body.event_id} ping`);
    });

    it(`the ${name} code of docs/events.md accepts a batch and its ping, and prints each event`, async () => {
      const path = `/webhook-endpoints/${endpoint.id}`;
      await merchant.client.put(path, { url: program.url, batch: 10 });
      const orders = [await merchant.completed(), await merchant.completed()].map(({ id }) => id);
      await deliver(service);
      const { body } = await merchant.client.get<Endpoint>(path);
      expect(body).toMatchObject({ behind: 0, failures: 0, last_attempt: { status: 204 } });
      const query = `after=${body.cursor - 4}&types=order.completed`;
      const { data } = (await merchant.client.get<EventPage>(`/events?${query}`)).body;
      expect(data.map((event) => event.data.order?.id)).toEqual(orders);
      const [first, second] = data.map(({ id }) => program.printed().indexOf(`${id} order.completed`));
      expect(first).toBeGreaterThan(-1);
      expect(second).toBeGreaterThan(first!);
      const { body: ping } = await merchant.client.post<{ event_id: string }>(`${path}/ping`);
      expect(program.printed()).toContain(`${ping.event_id} ping`);
      await merchant.client.put(path, { url: program.url });
    });

    it(`the ${name} code of docs/events.md accepts events with the earlier secret after a rotation`, async () => {
      await merchant.client.post(`/webhook-endpoints/${endpoint.id}/rotate-secret`);
      await expectAccepted();
      // The valid one is neither the first nor the last.
      const [valid] = sent.headers['webhook-signature']!.split(' ');
      const invalid = `v1,${Buffer.alloc(32).toString('base64')}`;
      const several = `v1a,unknown ${invalid} ${valid} ${invalid}`;
      expect(await post({ 'webhook-signature': several }, sent.body)).toBe(204);
      expect(await post({ 'webhook-signature': `${invalid} ${invalid}` }, sent.body)).toBe(400);
    });
  });
}
