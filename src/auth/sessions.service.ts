import { Injectable } from '@nestjs/common';
import { type EntityManager, In, IsNull } from 'typeorm';
import { Clock } from '../common/clock.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { Session } from './session.entity.js';
import { TokenSet } from './token-set.entity.js';

/** Sessions per transaction: few enough that no request waits for it. */
const BATCH = 200;

/** A session none of whose tokens is valid any more has ended, although it was to last longer. */
const ENDED_SQL = `
  SELECT s.id
    FROM sessions s
   WHERE s.id > ? AND (s.expires_at < ? OR s.revoked_at < ? OR NOT EXISTS (
         SELECT 1 FROM token_sets t WHERE t.session_id = s.id AND (t.refresh_expires_at >= ? OR t.access_expires_at >= ?)))
   ORDER BY s.id
   LIMIT ?`;

/** Revokes and deletes sessions. */
@Injectable()
export class SessionsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  async revoke(manager: EntityManager, sessionId: string): Promise<void> {
    await manager.update(Session, { id: sessionId, revokedAt: IsNull() }, { revokedAt: this.clock.now() });
  }

  /** Revokes all sessions of an API user. */
  async revokeAllOf(manager: EntityManager, apiUserId: string): Promise<void> {
    await manager.update(Session, { apiUserId, revokedAt: IsNull() }, { revokedAt: this.clock.now() });
  }

  /**
   * Deletes the sessions that ended before an instant, with their token sets: they expired, were revoked, or were not
   * refreshed while their last refresh token was valid. What is left of them only helps to investigate a theft.
   *
   * @returns the number of deleted rows.
   */
  async prune(endedBefore: Date): Promise<{ sessions: number; token_sets: number }> {
    const gone = { sessions: 0, token_sets: 0 };
    for (let after = ''; ;) {
      const values = [after, endedBefore, endedBefore, endedBefore, endedBefore, BATCH];
      const ended = await this.unitOfWork.statement((manager) => manager.query<{ id: string }[]>(ENDED_SQL, values));
      if (ended.length === 0) return gone;
      const ids = ended.map(({ id }) => id);
      after = ids.at(-1) ?? after;
      const [tokenSets, sessions] = await this.unitOfWork.transaction(async (manager) => [
        await manager.delete(TokenSet, { sessionId: In(ids) }),
        await manager.delete(Session, { id: In(ids) }),
      ]);
      gone.sessions += sessions?.affected ?? 0;
      gone.token_sets += tokenSets?.affected ?? 0;
    }
  }
}
