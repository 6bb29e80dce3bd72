import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { IdColumn, WordColumn } from '../database/columns.js';

/** A count of logins, or a network that a user has logged in from. `LoginCounts` reads and writes these rows. */
@Entity('rate_limits')
@Index('ix_rate_limits_expire', ['expire'])
@Index('ix_rate_limits_api_user', ['apiUserId'])
export class RateLimit {
  /** HMAC-SHA-256 in hexadecimal, so that the table contains no emails and no addresses. */
  @PrimaryColumn({ name: 'key', type: 'char', length: 64, charset: 'ascii', collation: 'ascii_bin' })
  key!: string;

  @WordColumn('kind')
  kind!: string;

  /** The user whose logins are counted; null for those of a network, and of an email that no user has. */
  @IdColumn('api_user_id', { nullable: true })
  apiUserId!: string | null;

  @Column({ name: 'points', type: 'int' })
  points!: number;

  /** The end of the window by the database's clock, in milliseconds since 1970. */
  @Column({ name: 'expire', type: 'bigint', unsigned: true })
  expire!: number;
}
