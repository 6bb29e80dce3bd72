import { type DataSource, type EntityManager, type EntityTarget, type ObjectLiteral } from 'typeorm';
import { type ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { inColumn } from './by-merchant.js';

/** Runs a query with named parameters, which may occur several times. */
export function queryNamed<Row>(
  manager: EntityManager,
  sql: string,
  parameters: Record<string, unknown>,
): Promise<Row[]> {
  const [text, values] = manager.dataSource.driver.escapeQueryWithParameters(sql, parameters);
  return manager.query<Row[]>(text, values);
}

/** For `find`: locks rows, and waits for those that another transaction has locked, or leaves them out. */
export const LOCKED = { mode: 'pessimistic_write' } as const;
export const LOCKED_IF_FREE = { mode: 'pessimistic_write', onLocked: 'skip_locked' } as const;

/** A row as the driver returns it, by column name. */
export type Row = Record<string, unknown>;

/**
 * Inserts rows with one statement, like `manager.insert`, whose query builder costs more than the statement. For
 * statements that run thousands of times per second.
 *
 * @param updated the columns to update where the row already exists.
 */
export async function insertRows<T extends ObjectLiteral>(
  manager: EntityManager,
  target: EntityTarget<T>,
  entities: readonly T[],
  updated: readonly string[] = [],
): Promise<void> {
  if (entities.length === 0) return;
  const { dataSource } = manager;
  const { tableName, columns } = dataSource.getMetadata(target);
  const inserted = columns.filter((column) => column.isInsert);
  const rows = entities.map((entity) => inserted.map((column) => valueOf(dataSource, column, entity)));
  const assignments = updated.map((column) => `${column} = VALUES(${column})`).join(', ');
  const onDuplicate = updated.length > 0 ? ` ON DUPLICATE KEY UPDATE ${assignments}` : '';
  await manager.query(`INSERT INTO ${tableName} (${namesOf(inserted).join(', ')}) VALUES ?${onDuplicate}`, [rows]);
}

/** Returns the instant `at` of the row that a statement finds; undefined if there is none, or it is null. */
export async function readInstant(
  manager: EntityManager,
  sql: string,
  parameters: readonly unknown[],
): Promise<Date | undefined> {
  const [row] = await manager.query<{ at: Date | null }[]>(sql, [...parameters]);
  return row?.at ?? undefined;
}

/** An SQL expression with its parameters. */
type Expression = readonly [sql: string, parameters: readonly unknown[]];

/**
 * Updates rows with one statement.
 *
 * @param properties those whose columns get the entities' values.
 * @param expressions for other columns, by name.
 * @param expected what must be true of the rows besides.
 * @throws Error if a row is missing, or is not as expected.
 */
export async function updateRows<T extends ObjectLiteral & { id: string; merchantId: string }>(
  manager: EntityManager,
  target: EntityTarget<T>,
  entities: readonly T[],
  properties: readonly (keyof T & string)[],
  expressions: Readonly<Record<string, (entity: T) => Expression>> = {},
  [condition, given]: Expression = ['TRUE', []],
): Promise<void> {
  const { dataSource } = manager;
  const { tableName, columns } = dataSource.getMetadata(target);
  const values = columns
    .filter(({ propertyName }) => properties.includes(propertyName))
    .map((column): [string, (entity: T) => Expression] => [
      column.databaseName,
      (entity) => ['?', [valueOf(dataSource, column, entity)]],
    ]);
  const parameters: unknown[] = [];
  const assignments = [...values, ...Object.entries(expressions)].map(([column, expressionOf]) => {
    const cases = entities.map((entity) => {
      const [sql, own] = expressionOf(entity);
      parameters.push(...(entities.length > 1 ? [entity.id] : []), ...own);
      return entities.length > 1 ? `WHEN ? THEN ${sql}` : sql;
    });
    return `${column} = ${entities.length > 1 ? `CASE id ${cases.join(' ')} END` : cases[0]}`;
  });
  const [owned, ids] = inColumn('id', entities, ({ id }) => id);
  const { affectedRows } = await manager.query<{ affectedRows: number }>(
    `UPDATE ${tableName} SET ${assignments.join(', ')} WHERE ${owned} AND ${condition}`,
    [...parameters, ...ids, ...given],
  );
  if (affectedRows !== entities.length)
    throw new Error(`locked rows of ${tableName} were changed by another transaction`);
}

const valueOf = (dataSource: DataSource, column: ColumnMetadata, entity: ObjectLiteral): unknown =>
  dataSource.driver.preparePersistentValue(column.getEntityValue(entity), column) as unknown;

export function columnNames(manager: EntityManager, target: EntityTarget<ObjectLiteral>): string[] {
  return namesOf(selectedColumns(manager, target));
}

/** Returns an entity with the columns that the row has. */
export function toEntity<T extends ObjectLiteral>(manager: EntityManager, target: EntityTarget<T>, row: Row): T {
  const entity = manager.dataSource.getMetadata(target).create() as T;
  for (const column of selectedColumns(manager, target)) {
    if (!(column.databaseName in row)) continue;
    column.setEntityValue(entity, manager.dataSource.driver.prepareHydratedValue(row[column.databaseName], column));
  }
  return entity;
}

const selectedColumns = (manager: EntityManager, target: EntityTarget<ObjectLiteral>): ColumnMetadata[] =>
  manager.dataSource.getMetadata(target).columns.filter((column) => column.isSelect);

/** The column that identifies an entity of a merchant: the last one of its primary key. */
export const idColumn = (manager: EntityManager, target: EntityTarget<ObjectLiteral>): ColumnMetadata =>
  manager.dataSource.getMetadata(target).primaryColumns.at(-1)!;

const namesOf = (columns: ColumnMetadata[]): string[] => columns.map((column) => column.databaseName);

/** The maximum number of IDs or rows per statement. */
const ROWS_PER_STATEMENT = 2000;

export function* chunks<T>(rows: readonly T[]): Generator<T[]> {
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) yield rows.slice(at, at + ROWS_PER_STATEMENT);
}
