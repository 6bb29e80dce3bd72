import { Column, Entity, PrimaryColumn } from 'typeorm';
import { InstantColumn, PrimaryId, WordColumn } from '../platform/database/columns.js';

/**
 * The beginning or the end of a change that an operator made with the command line: who, when, which command, and which
 * IDs. Rows are only added, so a change has two.
 */
@Entity('audit_log')
export class AuditRecord {
  @PrimaryId()
  id!: string;

  /** A change that has only `started` was interrupted: it is unknown whether it changed anything. */
  @PrimaryColumn({ name: 'outcome', type: 'varchar', length: 32, charset: 'ascii', collation: 'ascii_bin' })
  outcome!: 'started' | 'done' | 'failed';

  @WordColumn('command')
  command!: string;

  /** The operating system user. */
  @Column({ name: 'operator', type: 'varchar', length: 200 })
  operator!: string;

  @Column({ name: 'host', type: 'varchar', length: 200 })
  host!: string;

  /** The command's options and what it changed. Never a password, a document or a reason. */
  @Column({ name: 'details', type: 'json' })
  details!: object;

  @InstantColumn('recorded_at')
  recordedAt!: Date;
}
