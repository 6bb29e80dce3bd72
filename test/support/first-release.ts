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
