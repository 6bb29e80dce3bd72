import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { DigestColumn, IdColumn, InstantColumn, PrimaryId } from '../database/columns.js';
import { Session } from './session.entity.js';

/** An access token and a refresh token that were issued together. Only their SHA-256 digests are stored. */
@Entity('token_sets')
@Index('uq_token_sets_access_hash', ['accessHash'], { unique: true })
@Index('uq_token_sets_refresh_hash', ['refreshHash'], { unique: true })
@Index('ix_token_sets_session', ['sessionId'])
export class TokenSet {
  /** The `jti` of the JWT. */
  @PrimaryId()
  id!: string;

  @IdColumn('session_id')
  @ForeignKey(() => Session, { name: 'fk_token_sets_session' })
  sessionId!: string;

  @DigestColumn('access_hash')
  accessHash!: Buffer;

  @DigestColumn('refresh_hash')
  refreshHash!: Buffer;

  /** The signed JWT behind the access token. Clients can't use it directly. */
  @Column({ name: 'jwt', type: 'varchar', length: 1000, charset: 'ascii', collation: 'ascii_bin' })
  jwt!: string;

  @InstantColumn('created_at')
  createdAt!: Date;

  @InstantColumn('access_expires_at')
  accessExpiresAt!: Date;

  @InstantColumn('refresh_expires_at')
  refreshExpiresAt!: Date;

  /** When the refresh token was used. */
  @InstantColumn('rotated_at', { nullable: true })
  rotatedAt!: Date | null;
}
