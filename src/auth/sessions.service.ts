import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In, IsNull, LessThan, MoreThan } from 'typeorm';
import { Clock } from '../common/clock.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { Session } from './session.entity.js';
import { TokenSet } from './token-set.entity.js';

/** Sessions of one transaction: few enough that nobody waits for it. */
const BATCH = 200;

/** Ends sessions, each with every token of it. */
@Injectable()
export class SessionsService {
  constructor(
    private readonly dataSource: DataSource,
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
   * Deletes the sessions that expired or were revoked before an instant, with their token sets: what is left of
   * them is of no use but to whoever looks into a theft.
   *
   * @returns how many rows are gone.
   */
  async prune(endedBefore: Date): Promise<{ sessions: number; token_sets: number }> {
    const gone = { sessions: 0, token_sets: 0 };
    for (let after = ''; ;) {
      const where = { id: MoreThan(after) };
      const ended = await this.dataSource.manager.find(Session, {
        select: { id: true },
        where: [
          { ...where, expiresAt: LessThan(endedBefore) },
          { ...where, revokedAt: LessThan(endedBefore) },
        ],
        order: { id: 'ASC' },
        take: BATCH,
      });
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
