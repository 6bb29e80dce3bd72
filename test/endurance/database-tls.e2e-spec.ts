import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import { runNode } from '../support/build.js';
import { startBuiltService } from '../support/built-service.js';
import { aMerchant, anOrder } from '../support/factories.js';
import { OwnServer, servers } from '../support/private-server.js';
import { describeIf } from '../support/requirements.js';
import { startService, testEnvironment } from '../support/service.js';

describeIf(servers.length > 0, 'TLS to the database, because mysqld or mariadbd is missing')(
  'a database server that requires TLS',
  () => {
    const server = new OwnServer();
    const { folder } = server;
    let operator: mysql.Connection;

    const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });

    function authority(name: string): void {
      const subject = ['-subj', `/CN=${name}`, '-days', '2', '-nodes'];
      openssl('req', '-x509', '-newkey', 'rsa:2048', '-keyout', `${name}.key`, '-out', `${name}.pem`, ...subject);
    }

    /** Gives the server a certificate for the host. */
    function certify(host: string): void {
      writeFileSync(path.join(folder, 'san'), `subjectAltName=DNS:${host}`);
      const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'san'];
      openssl('x509', '-req', '-in', 'server.csr', '-out', 'server.pem', ...signed);
    }

    beforeAll(async () => {
      authority('ca');
      authority('stranger');
      openssl('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=db');
      certify('elsewhere.example');
      const options = [`--ssl-ca=${file('ca')}`, `--ssl-cert=${file('server')}`, `--ssl-key=${folder}/server.key`];
      await server.start({ durable: false, options });
      operator = await mysql.createConnection(server.url.replace(/^mariadb:/, 'mysql:'));
      await operator.query('SET GLOBAL require_secure_transport = ON');
    });
    afterAll(async () => {
      await operator?.end();
      await server.stop();
    });

    const withTls = (parameters: Record<string, string | undefined>, host = '127.0.0.1'): string => {
      const url = new URL(server.url);
      url.hostname = host;
      for (const [name, value] of Object.entries(parameters))
        if (value !== undefined) url.searchParams.set(name, value);
      return url.href;
    };
    const file = (name: string): string => path.join(folder, `${name}.pem`);
    const migrate = (url: string) => runNode('dist/src/migrate.js', ['run'], { DATABASE_URL: url });

    it.each([
      ['no ssl-mode', {}, '127.0.0.1', /secure transport|access denied/i],
      [
        'a CA that did not sign the certificate',
        { 'ssl-mode': 'VERIFY_CA', 'ssl-ca': 'stranger' },
        '127.0.0.1',
        /certificate/i,
      ],
      [
        'a certificate for another host',
        { 'ssl-mode': 'VERIFY_IDENTITY', 'ssl-ca': 'ca' },
        'localhost',
        /does not match|altnames/i,
      ],
      [
        'an unknown parameter',
        { 'ssl-mode': 'REQUIRED', tls: 'yes' },
        '127.0.0.1',
        /must not have the parameter "tls"/,
      ],
      ['an unknown ssl-mode', { 'ssl-mode': 'PREFERRED' }, '127.0.0.1', /ssl-mode of DISABLED, REQUIRED/],
    ] as const)('the migrations refuse to connect with %s', async (_, parameters, host, reason) => {
      const ca = 'ssl-ca' in parameters ? { 'ssl-ca': file(parameters['ssl-ca']) } : {};
      const { code, stderr } = await migrate(withTls({ ...parameters, ...ca }, host));
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(reason) });
    });

    it('migrations, the CLI, and the service connect over TLS with a verified identity', async () => {
      certify('localhost');
      await operator.query(server.url.startsWith('mariadb:') ? 'FLUSH SSL' : 'ALTER INSTANCE RELOAD TLS');
      const url = withTls({ 'ssl-mode': 'VERIFY_IDENTITY', 'ssl-ca': file('ca') }, 'localhost');
      expect(await migrate(url)).toMatchObject({ code: 0, stderr: '' });
      const created = await runNode('dist/src/admin.js', ['merchants', 'create', '--name', 'Shop'], {
        ...testEnvironment(url),
      });
      expect(created).toMatchObject({ code: 0, stderr: '' });
      const service = await startBuiltService(url);
      expect((await fetch(`${service.url}/health/ready`)).status).toBe(200);
      await service.stop();
    });

    it.each(['REQUIRED', 'VERIFY_CA'])(
      'ssl-mode=%s connects over TLS without verifying the host name',
      async (mode) => {
        const ca = mode === 'VERIFY_CA' ? { 'ssl-ca': file('ca') } : {};
        expect(await migrate(withTls({ 'ssl-mode': mode, ...ca }))).toMatchObject({ code: 0, stderr: '' });
      },
    );

    it('a network that breaks connections, also in the middle of their TLS handshake, is 503 and not 500', async () => {
      let isBroken = false;
      let broken = 0;
      const network = createServer((client) => {
        const upstream = connect(Number(new URL(server.url).port), '127.0.0.1');
        let sent = 0;
        let isOver = false;
        client.on('data', (data) => {
          // What is sent first asks for TLS.
          if (sent++ === 0 || !isBroken) return upstream.write(data);
          if (isOver) return;
          isOver = true;
          // After an end, what was written can get lost: the client ends the third kind itself.
          [() => client.resetAndDestroy(), () => client.end(), () => client.write('not TLS')][broken++ % 3]!();
        });
        upstream.on('data', (data) => client.write(data));
        for (const [one, other] of [
          [client, upstream],
          [upstream, client],
        ] as const)
          one.on('error', () => undefined).on('close', () => other.destroy());
      });
      await once(network.listen(0, '127.0.0.1'), 'listening');
      const url = new URL(withTls({ 'ssl-mode': 'REQUIRED' }));
      url.port = String((network.address() as AddressInfo).port);
      await migrate(url.href);
      const service = await startService({ databaseUrl: url.href });
      try {
        const merchant = await aMerchant(service);
        const create = async (): Promise<number> => (await merchant.client.once.post('/orders', anOrder())).status;
        isBroken = true;
        for (let round = 0; round < 3; round++) {
          const statuses = await Promise.all(Array.from({ length: 30 }, create));
          expect(new Set(statuses)).toEqual(new Set([503]));
        }
        expect(service.logged.join('')).toMatch(/"code":"(HANDSHAKE_SSL_ERROR|ERR_SSL_\w+)"/);
        isBroken = false;
        await merchant.create();
      } finally {
        await service.stop();
        network.close();
      }
    });
  },
);
