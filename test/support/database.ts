import { randomBytes } from 'node:crypto';
import mysql from 'mysql2/promise';
import { applyMigrations } from '../../src/platform/database/migrations.js';
import { createDataSource } from '../../src/schema.js';

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/** The server of the test run. There is no default, so that tests never use a database by accident. */
function serverUrl(): URL {
  const url = process.env.DATABASE_URL;
  if (!url) throw new Error('DATABASE_URL is not set: run the tests with `npm test` or `npm run test:e2e`');
  return new URL(url);
}

async function onServer(sql: string): Promise<void> {
  const { hostname, port, username, password } = serverUrl();
  const connection = await mysql.createConnection({
    host: hostname,
    port: Number(port || 3306),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
  });
  try {
    await connection.query(sql);
  } finally {
    await connection.end();
  }
}

/** Creates an empty database, which the caller drops. */
export async function createDatabase(): Promise<TestDatabase> {
  const name = `cashback_test_${randomBytes(6).toString('hex')}`;
  await onServer(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`);
  const url = serverUrl();
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => onServer(`DROP DATABASE ${name}`) };
}

/** Creates a database and runs the migrations. */
export async function createMigratedDatabase(): Promise<TestDatabase> {
  const database = await createDatabase();
  await migrate(database.url);
  return database;
}

/** Runs the migrations on a database. */
export async function migrate(url: string): Promise<void> {
  const dataSource = await createDataSource(url).initialize();
  try {
    await applyMigrations(dataSource, () => undefined);
  } finally {
    await dataSource.destroy();
  }
}
