import 'reflect-metadata';
import { DataSource } from 'typeorm';
import { readEnvFile } from './platform/config/config.js';
import { withPassword } from './platform/config/database-url.js';
import { dataSourceOptions, refuseUnsafeServer } from './platform/database/data-source.js';
import { appliedMigrations, applyMigrations, migrationNames, revertMigration } from './platform/database/migrations.js';
import { SCHEMA } from './schema.js';

const USAGE = 'usage: node dist/src/migrate.js run | revert | show';

const COMMANDS: Record<string, (dataSource: DataSource) => Promise<unknown>> = {
  run: (dataSource) => applyMigrations(dataSource, console.log),
  revert: (dataSource) => revertMigration(dataSource, console.log),
  show: async (dataSource) => {
    const applied = await appliedMigrations((sql) => dataSource.query(sql));
    for (const name of migrationNames(dataSource)) console.log(`[${applied.has(name) ? 'X' : ' '}] ${name}`);
  },
};

/**
 * Applies, reverts or lists the migrations. It needs DATABASE_URL, and DATABASE_PASSWORD if the URL has no password.
 */
async function main(name: string | undefined): Promise<void> {
  const command = COMMANDS[name ?? ''];
  if (!command) throw new Error(USAGE);
  readEnvFile();
  const { DATABASE_URL: url, DATABASE_PASSWORD: password } = process.env;
  if (!url)
    throw new Error('DATABASE_URL is missing: it must be a URL such as mysql://user:password@host:3306/cashback');
  const dataSource = new DataSource({
    ...dataSourceOptions(SCHEMA, withPassword(url, password), 1),
    // The service disables TypeORM's logs, which can contain customers' data. Migrations contain none.
    logging: ['schema', 'migration'],
    logger: 'simple-console',
  });
  await dataSource.initialize();
  try {
    await refuseUnsafeServer(dataSource);
    await command(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

main(process.argv[2]).catch((error: unknown) => {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
