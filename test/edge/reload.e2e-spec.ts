import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Edge, startEdge } from '../../tools/clusters/haproxy.mjs';
import { makeTempFolder } from '../../tools/support/processes.mjs';
import { makeCertificate } from '../support/certificate.js';
import { atOnce } from '../support/client.js';
import { describeWithEdge, startStub, type Stub } from '../support/edge.js';
import { valuesIn } from '../support/units.js';

const UNIT = 'ops/cashback-edge.service';

/** What became of a request: the name of the instance that answered 200, or what went wrong. */
type Outcome = string;

describeWithEdge('a reload of the edge', () => {
  let folder: string;
  let settings: string;
  let config: string;
  let certificate: ReturnType<typeof makeCertificate>;
  const trusted: string[] = [];
  const stubs: Stub[] = [];
  let edge: Edge;

  beforeAll(async () => {
    folder = makeTempFolder('cashback-edge-reload');
    [settings, config] = [path.join(folder, 'settings.cfg'), path.join(folder, 'edge.cfg')];
    certificate = makeCertificate(folder);
    trusted.push(certificate.pem);
    for (const name of ['first', 'second'])
      stubs.push(
        await startStub((incoming, response) => {
          const answer = () =>
            setTimeout(() => response.writeHead(200, { 'content-length': name.length }).end(name), 20);
          incoming.resume().once('end', answer);
        }),
      );
    copyFileSync('ops/edge.cfg', config);
    writeFileSync(settings, `global\n  setenv EDGE_CERTIFICATE ${certificate.file}\n`);
    const [, ...args] = here(valuesIn(UNIT, 'ExecStart')[0]!).split(' ');
    edge = await startEdge([stubs[0]!.url], {}, args);
    edge.url = edge.url.replace('http:', 'https:');
  });
  afterAll(async () => {
    await edge?.stop();
    for (const stub of stubs) await stub.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A command of the unit, with the files of this test. */
  const here = (command: string): string =>
    command
      .replace('/usr/sbin/haproxy', process.env.HAPROXY ?? 'haproxy')
      .replace('/etc/cashback-edge.cfg', settings)
      .replace('/opt/cashback-order-service/ops/edge.cfg', config)
      .replace('/bin/kill', 'kill')
      .replace('$MAINPID', String(edge?.pid));

  /** Does what `systemctl reload` does. @throws if a command fails, and does not run the next one. */
  function reload(): void {
    for (const command of valuesIn(UNIT, 'ExecReload')) execFileSync('sh', ['-c', here(command)], { stdio: 'pipe' });
  }

  const send = (agent: Agent | false): Promise<Outcome> =>
    new Promise((resolve) => {
      const options = { method: 'POST', agent, ca: trusted, headers: { 'content-type': 'application/json' } };
      const sent = request(new URL('/orders', edge.url), options, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('error', ({ message }) => resolve(message));
        response.on('end', () => resolve(response.statusCode === 200 ? text : `${response.statusCode}`));
      });
      sent.on('error', ({ message }) => resolve(message));
      sent.end('{}');
    });

  /** Sends requests until the change is done, half of them on connections of their own. @returns all outcomes */
  async function duringRequests(
    change: () => void,
    isDone: (outcomes: Outcome[]) => boolean | Promise<boolean>,
  ): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    let isOver = false;
    const working = atOnce(20, async (worker) => {
      const agent = worker % 2 === 0 && new Agent({ keepAlive: true, maxSockets: 1 });
      while (!isOver) {
        outcomes.push(await send(agent));
        // Connections are idle in between. The edge must not close one while its client sends the next request.
        await sleep(randomInt(30));
      }
      if (agent) agent.destroy();
    });
    try {
      await sleep(300);
      change();
      while (!(await isDone(outcomes))) await sleep(20);
      await sleep(300);
    } finally {
      isOver = true;
      await working;
    }
    return outcomes;
  }

  /** The certificate that a new connection gets. */
  const shown = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port: Number(new URL(edge.url).port), host: '127.0.0.1', ca: trusted }, () => {
        resolve(socket.getPeerX509Certificate()!.toString());
        socket.destroy();
      }).on('error', reject);
    });

  it('with a new certificate, new connections get it and no request is lost', async () => {
    const renewed = makeCertificate(folder, 'renewed.pem');
    trusted.push(renewed.pem);
    expect(await shown()).toBe(certificate.pem);
    renameSync(renewed.file, certificate.file);
    const outcomes = await duringRequests(reload, async () => (await shown()) === renewed.pem);
    expect(new Set(outcomes)).toEqual(new Set(['first']));
  });

  it('with another instance in the settings, the instance gets requests and none is lost', async () => {
    writeFileSync(settings, `  setenv SERVICE_ADDRESS_2 ${new URL(stubs[1]!.url).host}\n`, { flag: 'a' });
    const outcomes = await duringRequests(reload, (seen) => seen.includes('second'));
    expect(new Set(outcomes)).toEqual(new Set(['first', 'second']));
  });

  it('a changed edge.cfg is used and no request is lost', async () => {
    const changed = readFileSync(config, 'utf8').replace(
      /^frontend edge$/m,
      '$&\n  http-response set-header x-edge changed',
    );
    writeFileSync(config, changed);
    const isUsed = async (): Promise<boolean> => {
      const headers = await new Promise<object>((resolve, reject) => {
        request(edge.url, { agent: false, ca: trusted }, (response) => resolve(response.resume().headers))
          .on('error', reject)
          .end();
      });
      return 'x-edge' in headers;
    };
    expect(await isUsed()).toBe(false);
    expect(new Set(await duringRequests(reload, isUsed))).toEqual(new Set(['first', 'second']));
  });

  it('an edge.cfg with an error fails the reload, and the edge continues with the earlier one', async () => {
    writeFileSync(config, 'frontend edge\n  no-such-setting\n');
    expect(reload).toThrow();
    expect(['first', 'second']).toContain(await send(false));
  });
});
