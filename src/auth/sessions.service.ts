import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { Clock } from '../common/clock.js';
import { Session } from './session.entity.js';

/** Ends sessions, each with every token of it. */
@Injectable()
export class SessionsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  async revoke(manager: EntityManager, sessionId: string): Promise<void> {
    await manager.update(Session, { id: sessionId, revokedAt: IsNull() }, { revokedAt: this.clock.now() });
  }

  /** Ends all sessions of an API user: after its password was changed, or it was disabled, nobody goes on with old tokens. */
  async revokeAllOf(apiUserId: string): Promise<void> {
    await this.dataSource.manager.update(Session, { apiUserId, revokedAt: IsNull() }, { revokedAt: this.clock.now() });
  }
}
