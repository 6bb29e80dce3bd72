import { Injectable } from '@nestjs/common';
import { hostname, userInfo } from 'node:os';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { InstantColumn, PrimaryId, WordColumn } from '../platform/database/columns.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { newId } from '../platform/values/ids.js';
import { Clock } from '../platform/values/time.js';

/**
 * The beginning or the end of a change that an operator made with the command line: who, when, which command, and which
 * IDs. A change has two rows: the database refuses to change or delete one.
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

  /** What the command was asked to do and what it changed, without secrets, personal data and free text. */
  @Column({ name: 'details', type: 'json' })
  details!: object;

  @InstantColumn('recorded_at')
  recordedAt!: Date;
}

@Injectable()
export class AuditService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /**
   * Records the beginning and the end of a change, so that an interrupted one is recorded too.
   *
   * @param details the command's options, without secrets and documents.
   * @param change returns its result and what it changed; the latter is recorded with the details.
   */
  async record<T>(
    command: string,
    details: Record<string, unknown>,
    change: () => Promise<{ result: T; changed: Record<string, unknown> }>,
  ): Promise<T> {
    const [operator, host] = [operatorName(), hostname()].map((name) => name.slice(0, 200)) as [string, string];
    const record = { id: newId(this.clock.now()), command, operator, host };
    const append = (outcome: AuditRecord['outcome'], more = {}): Promise<unknown> => {
      const row = { ...record, outcome, details: { ...details, ...more }, recordedAt: this.clock.now() };
      return this.unitOfWork.statement((manager) => manager.insert(AuditRecord, row));
    };
    await append('started');
    const { result, changed } = await change().catch(async (error: unknown) => {
      await append('failed');
      throw error;
    });
    await append('done', changed);
    return result;
  }

  /** The latest changes first. One that was interrupted has not finished. */
  async list(limit: number): Promise<object[]> {
    const rows = await this.unitOfWork.statement((manager) =>
      manager.find(AuditRecord, { order: { id: 'DESC' }, take: 2 * limit }),
    );
    const ends = new Map(rows.filter(({ outcome }) => outcome !== 'started').map((end) => [end.id, end]));
    const begun = rows.filter(({ outcome }) => outcome === 'started').slice(0, limit);
    return begun.map((beginning) => {
      const { outcome, details, recordedAt } = ends.get(beginning.id) ?? { ...beginning, recordedAt: null };
      const { id, command, operator, host, recordedAt: started_at } = beginning;
      return { id, command, outcome, operator, host, started_at, finished_at: recordedAt, details };
    });
  }
}

function operatorName(): string {
  const { SUDO_USER } = process.env;
  const user = loginName();
  return SUDO_USER === undefined ? user : `${user} (sudo by ${SUDO_USER})`;
}

/** In a container the user ID may have no name. */
function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
