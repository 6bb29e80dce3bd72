import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

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
  const metadata = manager.dataSource.getMetadata(target);
  const columns = metadata.columns.filter((column) => column.isInsert);
  const { driver } = manager.dataSource;
  const rows = entities.map((entity) =>
    columns.map((column) => driver.preparePersistentValue(column.getEntityValue(entity), column) as unknown),
  );
  const assignments = updated.map((column) => `${column} = VALUES(${column})`).join(', ');
  const onDuplicate = updated.length > 0 ? ` ON DUPLICATE KEY UPDATE ${assignments}` : '';
  await manager.query(`INSERT INTO ${metadata.tableName} (${namesOf(columns).join(', ')}) VALUES ?${onDuplicate}`, [
    rows,
  ]);
}

export function columnNames(manager: EntityManager, target: EntityTarget<ObjectLiteral>): string[] {
  return namesOf(selectedColumns(manager, target));
}

export function toEntity<T extends ObjectLiteral>(manager: EntityManager, target: EntityTarget<T>, row: Row): T {
  const entity = manager.dataSource.getMetadata(target).create() as T;
  for (const column of selectedColumns(manager, target)) {
    column.setEntityValue(entity, manager.dataSource.driver.prepareHydratedValue(row[column.databaseName], column));
  }
  return entity;
}

const selectedColumns = (manager: EntityManager, target: EntityTarget<ObjectLiteral>): ColumnMetadata[] =>
  manager.dataSource.getMetadata(target).columns.filter((column) => column.isSelect);

const namesOf = (columns: ColumnMetadata[]): string[] => columns.map((column) => column.databaseName);
