import { Column, Entity } from 'typeorm';
import { InstantColumn, PrimaryId, WordColumn } from '../database/columns.js';

/** A change that an operator made with the command line: who, when, which command, and which IDs. */
@Entity('audit_log')
export class AuditRecord {
  @PrimaryId()
  id!: string;

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

  /** If the command is killed, the outcome remains `started`: it is unknown whether it changed anything. */
  @WordColumn('outcome')
  outcome!: 'started' | 'done' | 'failed';

  @InstantColumn('started_at')
  startedAt!: Date;

  @InstantColumn('finished_at', { nullable: true })
  finishedAt!: Date | null;
}
