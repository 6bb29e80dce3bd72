import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A count of logins, or a network that a user has logged in from. `LoginCounts` reads and writes these rows. */
@Entity('rate_limits')
@Index('ix_rate_limits_expire', ['expire'])
export class RateLimit {
  /** HMAC-SHA256, in hexadecimal, of what is counted: no email and no address can be read from it. */
  @PrimaryColumn({ name: 'key', type: 'char', length: 64, charset: 'ascii', collation: 'ascii_bin' })
  key!: string;

  @Column({ name: 'points', type: 'int' })
  points!: number;

  /** When the window ends by the database's clock, in milliseconds since 1970. */
  @Column({ name: 'expire', type: 'bigint', unsigned: true, nullable: true })
  expire!: number | null;
}
