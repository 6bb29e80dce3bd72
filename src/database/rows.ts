import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

/** A row as the driver hands it over, by the names of the columns. */
export type Row = Record<string, unknown>;

/**
 * Inserts one row as `manager.insert` does, whose query builder costs more than the statement: for what
 * is done thousands of times a second.
 */
export async function insertRow<T extends ObjectLiteral>(
  manager: EntityManager,
  target: EntityTarget<T>,
  entity: T,
): Promise<void> {
  const { tableName, columns } = manager.dataSource.getMetadata(target);
  const { driver } = manager.dataSource;
  const values = columns.map(
    (column) => driver.preparePersistentValue(column.getEntityValue(entity), column) as unknown,
  );
  await manager.query(`INSERT INTO ${tableName} (${namesOf(columns).join(', ')}) VALUES (?)`, [values]);
}

/** The columns of an entity, for a statement of our own. */
export function columnNames(manager: EntityManager, target: EntityTarget<ObjectLiteral>): string[] {
  return namesOf(manager.dataSource.getMetadata(target).columns);
}

/** Makes an entity of a row that has all of its columns. */
export function toEntity<T extends ObjectLiteral>(manager: EntityManager, target: EntityTarget<T>, row: Row): T {
  const metadata = manager.dataSource.getMetadata(target);
  const entity = metadata.create() as T;
  for (const column of metadata.columns) {
    column.setEntityValue(entity, manager.dataSource.driver.prepareHydratedValue(row[column.databaseName], column));
  }
  return entity;
}

const namesOf = (columns: ColumnMetadata[]): string[] => columns.map((column) => column.databaseName);
