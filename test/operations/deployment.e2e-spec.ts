import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getMetadataStorage } from 'class-validator';
import mysql from 'mysql2/promise';
import { Config } from '../../src/platform/config/config.js';
import { runNode } from '../support/build.js';
import { startBuiltService } from '../support/built-service.js';
import { createDatabase, createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { TEST_SECRET, testEnvironment } from '../support/service.js';

const read = (file: string): string => readFileSync(file, 'utf8');

describe('the Docker image', () => {
  it('the image uses the Node version of .nvmrc and the command of `npm run start:prod`', () => {
    const [command] = /^CMD (\[.*\])$/m.exec(read('Dockerfile'))?.slice(1) ?? [];
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    expect((JSON.parse(command ?? '[]') as string[]).join(' ')).toBe(scripts['start:prod']);
    const images = read('Dockerfile').match(/^FROM \S+/gm);
    expect(new Set(images)).toEqual(new Set([`FROM node:${read('.nvmrc').trim()}-bookworm-slim`]));
  });
});

describe('the lock file', () => {
  it('npm verifies every package, also those of other platforms: each has its checksum', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { link?: boolean; integrity?: string }>;
    };
    const installed = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link);
    expect(installed.length).toBeGreaterThan(900);
    expect(
      installed.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-')).map(([path]) => path),
    ).toEqual([]);
  });
});

/** The variables that the service validates. */
const VARIABLES = [
  ...new Set(
    getMetadataStorage()
      .getTargetValidationMetadatas(Config, '', false, false)
      .map(({ propertyName }) => propertyName),
  ),
];
const named = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name]) => name ?? '');

it('.dockerignore lets all programs of `npm run build` into the image', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: { build: string } };
  const programs = named(scripts.build, /node (tools\/\S+)/g);
  expect(programs).toContain('tools/documents.mjs');
  expect(read('.dockerignore').split('\n')).toEqual(expect.arrayContaining(programs.map((file) => `!${file}`)));
});

describe('environment variables', () => {
  /** The variables of .env.example, where defaults are commented out. */
  const documented = named(read('.env.example'), /^(?:# )?([A-Z][A-Z0-9_]+)=/gm);

  it('every environment variable is listed once in .env.example', () => {
    expect(documented).toEqual(expect.arrayContaining(VARIABLES));
    expect(documented).toHaveLength(new Set(documented).size);
    expect(documented.filter((name) => !VARIABLES.includes(name) && !name.startsWith('OTEL_'))).toEqual([]);
  });

  it('compose.yaml passes every environment variable that the image does not set to the service', () => {
    const compose = read('compose.yaml');
    const passed = named(
      compose.slice(compose.indexOf('x-service:'), compose.indexOf('services:')),
      /^ {4}([A-Z_]+):/gm,
    );
    const image = named(/^ENV (.*)$/m.exec(read('Dockerfile'))?.[1] ?? '', /([A-Z_]+)=/g);
    expect([...passed, ...image].sort()).toEqual([...documented].sort());
  });

  it.each(['compose.yaml', 'compose.cluster.yaml'])(
    'docker compose commands other than up need no environment variables, and %s has no default password',
    (file) => {
      expect(read(file)).not.toMatch(/\$\{\w+:?\?/);
      expect(read(file)).not.toMatch(/PASSWORD:-[^}]/);
    },
  );
});

describe('a database password with special characters', () => {
  const PASSWORD = 'p@ss/w#rd?%41:é';
  let database: TestDatabase;
  let admin: mysql.Connection;
  let url: URL;
  let user: string;

  beforeAll(async () => {
    database = await createDatabase();
    url = new URL(database.url);
    user = url.pathname.slice(1).replace('cashback_test', 'u');
    admin = await mysql.createConnection(database.url.replace(/^mariadb:/, 'mysql:'));
    await admin.query(`CREATE USER ${user} IDENTIFIED BY ?`, [PASSWORD]);
    await admin.query(`GRANT ALL ON ${url.pathname.slice(1)}.* TO ${user}`);
    url.username = user;
    url.password = '';
  });
  afterAll(async () => {
    await admin.query(`DROP USER ${user}`);
    await admin.end();
    await database.drop();
  });

  it('DATABASE_PASSWORD accepts special characters in migrations and the CLI', async () => {
    const environment = { DATABASE_URL: url.href, DATABASE_PASSWORD: PASSWORD };
    const migrated = await runNode('dist/src/migrate.js', ['run'], environment);
    expect(migrated).toMatchObject({ code: 0, stderr: '' });
    const listed = await runNode('dist/src/admin.js', ['merchants', 'list'], {
      ...testEnvironment(url.href),
      ...environment,
    });
    expect(listed).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });
});

describe('--check-config', () => {
  const environment = { DATABASE_URL: 'mysql://cashback@database/cashback', DATABASE_PASSWORD: 'p@ss/w#rd' };

  it('--check-config names a missing secret and does not connect to the database', async () => {
    const { code, stderr } = await runNode('dist/src/main.js', ['--check-config'], environment);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('JWT_SECRET is missing') });
    const valid = await runNode('dist/src/main.js', ['--check-config'], { ...environment, JWT_SECRET: TEST_SECRET });
    expect(valid).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('compose.yaml runs --check-config before the database starts', () => {
    const compose = read('compose.yaml');
    const check = compose.slice(compose.indexOf('\n  check:'), compose.indexOf('\n  database:'));
    expect(check).toContain('node dist/src/main.js --check-config && exit $${fault:-0}');
    expect(compose).toMatch(
      /\n {2}database:\n( {4}.*\n)+? {4}depends_on:\n {6}check: \{ condition: service_completed_successfully \}/,
    );
  });
});

describe('the start in production', () => {
  it('production warns at start without METRICS_TOKEN, and not with it', async () => {
    const database = await createMigratedDatabase();
    const started = async (variables: Record<string, string>): Promise<string> => {
      const env = { NODE_ENV: 'production', WEBHOOK_ALLOW_PRIVATE: 'false', ...variables };
      const service = await startBuiltService(database.url, env);
      await service.listening();
      await service.stop();
      return service.output();
    };
    try {
      expect(await started({})).toContain('set METRICS_TOKEN');
      expect(await started({ METRICS_TOKEN: 'a-token-of-this-test' })).not.toContain('set METRICS_TOKEN');
    } finally {
      await database.drop();
    }
  });
});
