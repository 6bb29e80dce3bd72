import { rmSync } from 'node:fs';
import { get } from 'node:https';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:tls';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { checkEdge, type Edge, startEdge } from '../../tools/clusters/haproxy.mjs';
import { findFreePort } from '../../tools/support/ports.mjs';
import { makeTempFolder } from '../../tools/support/processes.mjs';
import { makeCertificate } from '../support/certificate.js';
import { Client } from '../support/client.js';
import { describeWithEdge, expectEdgeProblem, RawConnection, startStub, type Stub } from '../support/edge.js';
import { aRequest } from '../support/raw.js';

describeWithEdge('the settings of the edge', () => {
  let folder: string;
  let certificate: ReturnType<typeof makeCertificate>;
  /** Answers with the headers that it got, and on one path with 404. */
  let stub: Stub;
  let edge: Edge | undefined;

  beforeAll(async () => {
    folder = makeTempFolder('cashback-edge-tls');
    certificate = makeCertificate(folder);
    stub = await startStub(({ headers, url }, response) => {
      if (url === '/nowhere') return void response.writeHead(404, { 'content-length': 0 }).end();
      const told = JSON.stringify(headers);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': told.length }).end(told);
    });
  });
  afterEach(async () => {
    await edge?.stop();
    edge = undefined;
  });
  afterAll(async () => {
    await stub?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('ops/edge.cfg is valid without a warning, with one instance and with all variables', async () => {
    const address = { SERVICE_ADDRESS: '127.0.0.1:3001' };
    const all = { ...address, SERVICE_ADDRESS_2: '127.0.0.1:3002', SERVICE_ADDRESS_3: '127.0.0.1:3003' };
    const others = { EDGE_LISTEN: ':8443', EDGE_CERTIFICATE: certificate.file, EDGE_METRICS_LISTEN: '127.0.0.1:8405' };
    for (const variables of [address, { ...all, ...others }])
      expect(await checkEdge(variables)).toEqual({ ok: true, output: expect.not.stringMatching(/WARNING|ALERT/) });
  });

  it('the instance gets the address of the client from the edge, and nothing that the client says about it', async () => {
    edge = await startEdge([stub.url]);
    const claims = [
      'forwarded: for=192.0.2.1',
      'x-forwarded-for: 192.0.2.1',
      'X-Forwarded-For: 192.0.2.2',
      'x-forwarded-host: elsewhere.example',
      'x-forwarded-proto: https',
    ].join('\r\n');
    const request = `GET / HTTP/1.1\r\nhost: shop.example\r\n${claims}\r\nconnection: close\r\n\r\n`;
    const { body } = await new RawConnection(edge, request, '127.0.0.7').answer();
    const told = Object.fromEntries(Object.entries(body as object).filter(([name]) => name.includes('forwarded')));
    expect(told).toEqual({ 'x-forwarded-for': '127.0.0.7', 'x-forwarded-proto': 'http' });
    expect(body.host).toBe('shop.example');
  });

  it('with EDGE_CERTIFICATE the edge speaks TLS, and only TLS', async () => {
    edge = await startEdge([stub.url], { EDGE_CERTIFICATE: certificate.file });
    const request = get(edge.url, { ca: certificate.pem, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(JSON.parse(await text(response))).toMatchObject({ 'x-forwarded-proto': 'https' });
    const plain = new RawConnection(edge, aRequest('GET /'));
    await plain.closed;
    expect(plain.statuses.filter((status) => status < 400)).toEqual([]);
  });

  it('with EDGE_CERTIFICATE the edge refuses ciphers without forward secrecy', async () => {
    edge = await startEdge([stub.url], { EDGE_CERTIFICATE: certificate.file });
    const [host, port, ca] = ['127.0.0.1', Number(new URL(edge.url).port), certificate.pem] as const;
    const connectWith = (ciphers: string): Promise<unknown> => {
      const socket = connect({ host, port, ca, ciphers, maxVersion: 'TLSv1.2', servername: 'localhost' });
      return once(socket, 'secureConnect').finally(() => socket.destroy());
    };
    await connectWith('ECDHE-RSA-AES128-GCM-SHA256');
    for (const cipher of ['AES128-GCM-SHA256', 'AES256-SHA', 'ECDHE-RSA-AES128-SHA'])
      await expect(connectWith(cipher)).rejects.toThrow(/handshake failure|alert/i);
  });

  it('the end of an instance is one line in the log of the edge, because one backend checks it for all', async () => {
    const other = await startStub((_request, response) => response.end());
    try {
      edge = await startEdge([other.url, stub.url]);
      stub.isReady = false;
      const said = (): string[] =>
        edge!
          .log()
          .split('\n')
          .filter((line) => line.startsWith('Server '));
      while (said().length === 0) await sleep(50);
      await sleep(500);
      expect(said()).toEqual([expect.stringContaining('Server service/instance2 is DOWN')]);
    } finally {
      stub.isReady = true;
      await other.stop();
    }
  });

  it('the log names each request at the level info, without path, query and body, and none at the default level', async () => {
    const secrets = 'GET /customers/52998224725?token=cbat_abcdef';
    edge = await startEdge([stub.url], { EDGE_LOG_LEVEL: 'info' });
    const { headers } = await new RawConnection(edge, aRequest(secrets)).answer();
    const id = headers.get('x-request-id')!;
    while (!edge.log().includes(id)) await sleep(20);
    const line = edge
      .log()
      .split('\n')
      .find((each) => each.includes(id))!;
    expect(JSON.parse(line)).toMatchObject({ request_id: id, client: '127.0.0.1', method: 'GET', status: 200 });
    expect(edge.log()).not.toMatch(/52998224725|cbat_/);
    await edge.stop();
    edge = await startEdge([stub.url]);
    await new RawConnection(edge, aRequest(secrets)).answer();
    await sleep(200);
    expect(edge.log()).not.toContain('edge_request');
  });

  it('EDGE_METRICS_LISTEN serves the metrics of the edge to Prometheus', async () => {
    const port = await findFreePort();
    edge = await startEdge([stub.url], { EDGE_METRICS_LISTEN: `127.0.0.1:${port}` });
    await new Client(edge).get('/any');
    const { body } = await new Client({ url: `http://127.0.0.1:${port}` }).get<string>('/metrics');
    expect(body).toMatch(/haproxy_server_http_responses_total\{proxy="service",server="instance1",code="2xx"\} 1/);
  });

  it('the thousand-and-first connection of an address is closed, and another address is served', async () => {
    edge = await startEdge([stub.url]);
    const open = Array.from({ length: 1050 }, () => new RawConnection(edge!, '', '127.0.0.2'));
    await sleep(1500);
    expect(open.filter(({ socket }) => socket.destroyed)).toHaveLength(50);
    expect((await new RawConnection(edge, aRequest('GET /')).answer()).status).toBe(200);
    for (const { socket } of open) socket.destroy();
  });

  it('an address whose requests fail more than 2000 times in ten seconds gets 429, and another one does not', async () => {
    edge = await startEdge([stub.url]);
    const failing = aRequest('GET /nowhere', { connection: 'keep-alive' });
    const hundred = Buffer.concat(Array<Buffer>(100).fill(failing));
    await Promise.all(Array.from({ length: 24 }, () => new RawConnection(edge!, hundred, '127.0.0.2').answers(100, 8)));
    const refused = await new RawConnection(edge, aRequest('GET /orders'), '127.0.0.2').answer();
    expectEdgeProblem(refused, 'too_many_requests', '/orders');
    expect((await new RawConnection(edge, aRequest('GET /')).answer()).status).toBe(200);
  });
});
