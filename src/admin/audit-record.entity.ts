import { Column, Entity } from 'typeorm';
import { InstantColumn, PrimaryId, WordColumn } from '../database/columns.js';

/** A change that an operator made with the command line: who, when, which command, and which ids. */
@Entity('audit_log')
export class AuditRecord {
  @PrimaryId()
  id!: string;

  @WordColumn('command')
  command!: string;

  /** The operating system's user. */
  @Column({ name: 'operator', type: 'varchar', length: 200 })
  operator!: string;

  @Column({ name: 'host', type: 'varchar', length: 200 })
  host!: string;

  /** What the command was given and what it changed. Never a password, a document or a reason. */
  @Column({ name: 'details', type: 'json' })
  details!: object;

  /** `started` stays where the command was killed: whether it changed anything is then not known. */
  @WordColumn('outcome')
  outcome!: 'started' | 'done' | 'failed';

  @InstantColumn('started_at')
  startedAt!: Date;

  @InstantColumn('finished_at', { nullable: true })
  finishedAt!: Date | null;
}
