import { Injectable } from '@nestjs/common';
import { type EntityManager, In, IsNull, Not } from 'typeorm';
import { Clock } from '../platform/values/time.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { Session } from './session.entity.js';
import { TokenSet } from './session.entity.js';

/** Sessions per transaction, few enough that no request has to wait. */
const BATCH = 200;

/** A session has also ended when none of its tokens is valid any longer, even before `expires_at`. */
const ENDED_SQL = `
  SELECT s.id
    FROM sessions s
   WHERE s.id > ? AND (s.expires_at < ? OR s.revoked_at < ? OR NOT EXISTS (
         SELECT 1 FROM token_sets t WHERE t.session_id = s.id AND (t.refresh_expires_at >= ? OR t.access_expires_at >= ?)))
   ORDER BY s.id
   LIMIT ?`;

const OPEN_SQL = `
  SELECT api_user_id AS id, COUNT(*) AS open FROM sessions
   WHERE api_user_id IN (?) AND revoked_at IS NULL AND expires_at > ? GROUP BY api_user_id`;

const LATEST = 20;

@Injectable()
export class SessionsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  async revoke(manager: EntityManager, sessionId: string): Promise<void> {
    await manager.update(Session, { id: sessionId, revokedAt: IsNull() }, { revokedAt: this.clock.now() });
  }

  /** @param kept the ID of the session that stays. */
  async revokeAllOf(manager: EntityManager, apiUserId: string, kept: string): Promise<void> {
    await manager.update(Session, { apiUserId, id: Not(kept), revokedAt: IsNull() }, { revokedAt: this.clock.now() });
  }

  /** Counts the sessions of users that are neither revoked nor over, by user. */
  async countOpen(manager: EntityManager, apiUserIds: readonly string[]): Promise<Map<string, number>> {
    if (apiUserIds.length === 0) return new Map();
    const rows = await manager.query<{ id: string; open: string }[]>(OPEN_SQL, [apiUserIds, this.clock.now()]);
    return new Map(rows.map(({ id, open }) => [id, Number(open)]));
  }

  latestOf(apiUserId: string): Promise<Session[]> {
    const order = { createdAt: 'DESC' } as const;
    return this.unitOfWork.statement((manager) => manager.find(Session, { where: { apiUserId }, order, take: LATEST }));
  }

  /**
   * Deletes sessions that ended before an instant, with their token sets: sessions that expired, were revoked, or were
   * not refreshed in time. Until then they are kept to investigate token theft.
   */
  async prune(endedBefore: Date): Promise<{ sessions: number; token_sets: number }> {
    const deleted = { sessions: 0, token_sets: 0 };
    for (let after = ''; ;) {
      const values = [after, endedBefore, endedBefore, endedBefore, endedBefore, BATCH];
      const ended = await this.unitOfWork.statement((manager) => manager.query<{ id: string }[]>(ENDED_SQL, values));
      if (ended.length === 0) return deleted;
      const ids = ended.map(({ id }) => id);
      after = ids.at(-1) ?? after;
      const [tokenSets, sessions] = await this.unitOfWork.transaction(async (manager) => [
        await manager.delete(TokenSet, { sessionId: In(ids) }),
        await manager.delete(Session, { id: In(ids) }),
      ]);
      deleted.sessions += sessions?.affected ?? 0;
      deleted.token_sets += tokenSets?.affected ?? 0;
    }
  }
}
