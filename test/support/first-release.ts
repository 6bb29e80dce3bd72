import { readFileSync } from 'node:fs';
import mysql from 'mysql2/promise';
import { createDataSource } from '../../src/schema.js';

/** The last migration of the first release. */
const LAST_OF_FIRST_RELEASE = 1763640000006;

/** Gives an empty database the schema of the first release. */
export async function migrateFirstRelease(url: string): Promise<void> {
  const dataSource = createDataSource(url);
  const all = dataSource.options.migrations as (new () => unknown)[];
  dataSource.setOptions({
    migrations: all.filter(({ name }) => Number(name.slice(-13)) <= LAST_OF_FIRST_RELEASE) as never,
  });
  await dataSource.initialize();
  await dataSource.runMigrations({ transaction: 'each' });
  await dataSource.destroy();
}

const recorded = (file: string): string => readFileSync(`test/support/first-release/${file}`, 'utf8');
const RECORDED_AT = (JSON.parse(recorded('answers.json')) as { recorded_at: string }).recorded_at;
const AGE_MS = Date.now() - Date.parse(RECORDED_AT);

/** Returns a recording of the first release, with every instant moved to where it would be if it was made now. */
export const firstRelease = (file: 'answers.json' | 'rows.sql'): string =>
  recorded(file).replace(
    /(\d{4}-\d\d-\d\d)([ T])(\d\d:\d\d:\d\d\.\d{3})/g,
    (_all, day: string, separator: string, time: string) =>
      new Date(Date.parse(`${day}T${time}Z`) + AGE_MS).toISOString().slice(0, -1).replace('T', separator),
  );

/** Inserts the rows that the first release wrote. */
export async function insertFirstReleaseRows(url: string): Promise<void> {
  const connection = await mysql.createConnection({ uri: url.replace(/^mariadb:/, 'mysql:') });
  for (const statement of firstRelease('rows.sql').trim().split('\n')) await connection.query(statement);
  await connection.end();
}
