import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A count of logins, or a network that a user has logged in from. `LoginCounts` reads and writes these rows. */
@Entity('rate_limits')
@Index('ix_rate_limits_expire', ['expire'])
export class RateLimit {
  /** HMAC-SHA-256 in hexadecimal, so that the table contains no emails and no addresses. */
  @PrimaryColumn({ name: 'key', type: 'char', length: 64, charset: 'ascii', collation: 'ascii_bin' })
  key!: string;

  @Column({ name: 'points', type: 'int' })
  points!: number;

  /** The end of the window by the database's clock, in milliseconds since 1970. */
  @Column({ name: 'expire', type: 'bigint', unsigned: true, nullable: true })
  expire!: number | null;
}
