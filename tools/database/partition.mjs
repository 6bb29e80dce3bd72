// @ts-check
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { connect } from './connection.mjs';

/** Has merchants, but its emails are unique across all of them. */
const NOT_OF_ONE_MERCHANT = ['api_users'];

/**
 * Partitions each table of a merchant's rows by the merchant: the tables that the migrations give a `merchant_id`. The
 * foreign keys go, because no partitioned table can have one, and the merchant joins every primary and unique key.
 *
 * @param {string} url of a database with the schema of the migrations, best without rows
 * @param {number} partitions
 */
export async function partition(url, partitions) {
  const connection = await connect(url);
  /** @param {string} sql @returns {Promise<Record<string, string>[]>} */
  const read = async (sql) => /** @type {any} */ ((await connection.query(sql))[0]);
  try {
    const found = await read(
      "SELECT table_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name = 'merchant_id'",
    );
    const tables = found.map(({ name }) => String(name)).filter((name) => !NOT_OF_ONE_MERCHANT.includes(name));
    const foreignKeys = await read(
      'SELECT table_name AS of_table, referenced_table_name AS target, constraint_name AS name FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE()',
    );
    for (const { of_table: table, target, name } of foreignKeys)
      if ([table, target].some((one) => tables.includes(String(one))))
        await connection.query(`ALTER TABLE ${table} DROP FOREIGN KEY ${name}`);
    const keys = await read(
      `SELECT table_name AS of_table, index_name AS name, GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ', ') AS columns
         FROM information_schema.statistics WHERE table_schema = DATABASE() AND non_unique = 0 GROUP BY table_name, index_name`,
    );
    for (const table of tables) {
      const clauses = keys
        .filter(({ of_table, columns }) => of_table === table && !columns?.split(', ').includes('merchant_id'))
        .map(({ name, columns }) =>
          name === 'PRIMARY'
            ? `DROP PRIMARY KEY, ADD PRIMARY KEY (${columns}, merchant_id)`
            : `DROP INDEX ${name}, ADD UNIQUE INDEX ${name} (${columns}, merchant_id)`,
        );
      await connection.query(
        `ALTER TABLE ${table} ${clauses.join(', ')} PARTITION BY KEY (merchant_id) PARTITIONS ${partitions}`,
      );
    }
  } finally {
    await connection.end();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await partition(String(process.env['DATABASE_URL']), Number(process.argv[2] ?? 16));
