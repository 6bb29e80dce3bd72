import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * A count of rate-limiter-flexible, which reads and writes these rows with statements of its own; the
 * order of the columns is the one they need. The entity is here for the schema alone.
 */
@Entity('rate_limits')
@Index('ix_rate_limits_expire', ['expire'])
export class RateLimit {
  /** HMAC-SHA256, in hexadecimal, of what is counted: no e-mail and no address can be read out of it. */
  @PrimaryColumn({ name: 'key', type: 'char', length: 64, charset: 'ascii', collation: 'ascii_bin' })
  key!: string;

  @Column({ name: 'points', type: 'int' })
  points!: number;

  /** When the window ends, in milliseconds since 1970. */
  @Column({ name: 'expire', type: 'bigint', unsigned: true, nullable: true })
  expire!: number | null;
}
