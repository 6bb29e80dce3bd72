import { hostname, userInfo } from 'node:os';
import { Injectable } from '@nestjs/common';
import { Clock } from '../common/clock.js';
import { newId } from '../common/ids.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { AuditRecord } from './audit-record.entity.js';

/** Records what operators change. */
@Injectable()
export class AuditService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /**
   * Makes a change and records it. The record is written before the change and completed after it, so that an
   * interrupted change is recorded too.
   *
   * @param details the command's options, without secrets and documents.
   * @param change returns its result and what it changed; the latter is recorded with the details.
   * @returns the result of `change`.
   */
  async record<T>(
    command: string,
    details: Record<string, unknown>,
    change: () => Promise<{ result: T; changed: Record<string, unknown> }>,
  ): Promise<T> {
    const now = this.clock.now();
    const record: AuditRecord = {
      id: newId(now),
      command,
      operator: operatorName().slice(0, 200),
      host: hostname().slice(0, 200),
      details,
      outcome: 'started',
      startedAt: now,
      finishedAt: null,
    };
    await this.unitOfWork.statement((manager) => manager.insert(AuditRecord, record));
    const { result, changed } = await change().catch(async (error: unknown) => {
      await this.#finish(record, 'failed', details);
      throw error;
    });
    await this.#finish(record, 'done', { ...details, ...changed });
    return result;
  }

  /** Returns records, latest first. */
  list(limit: number): Promise<AuditRecord[]> {
    return this.unitOfWork.statement((manager) => manager.find(AuditRecord, { order: { id: 'DESC' }, take: limit }));
  }

  async #finish({ id }: AuditRecord, outcome: 'done' | 'failed', details: object): Promise<void> {
    const finishedAt = this.clock.now();
    await this.unitOfWork.statement((manager) => manager.update(AuditRecord, { id }, { outcome, details, finishedAt }));
  }
}

/** Returns the user that runs the command, and the user that called sudo, if any. */
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
