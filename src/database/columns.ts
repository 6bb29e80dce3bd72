import { Column, PrimaryColumn, type ColumnOptions } from 'typeorm';
import { exactCents } from '../common/money.js';

/** The kinds of column this service has; each states its type once, for entities and migrations to agree on. */

const UUID = { type: 'char', length: 36, charset: 'ascii', collation: 'ascii_bin' } as const;

export const PrimaryId = (name = 'id'): PropertyDecorator => PrimaryColumn({ name, ...UUID });

export const IdColumn = (name: string, options: ColumnOptions = {}): PropertyDecorator =>
  Column({ name, ...UUID, ...options });

/** Centavos. What a double cannot hold exactly throws on its way in and out. */
export const CentsColumn = (name: string, options: ColumnOptions = {}): PropertyDecorator =>
  Column({ name, type: 'bigint', transformer: { to: (cents: number) => cents, from: exactCents }, ...options });

/** An instant in UTC with milliseconds, always out of the service's own clock. */
export const InstantColumn = (name: string, options: ColumnOptions = {}): PropertyDecorator =>
  Column({ name, type: 'datetime', precision: 3, ...options });

/** A word of a fixed vocabulary of ours. */
export const WordColumn = (name: string, length = 32): PropertyDecorator =>
  Column({ name, type: 'varchar', length, charset: 'ascii', collation: 'ascii_bin' });

/**
 * A key of the caller's, compared byte for byte: collations hold `José` and `jose` for equal and most
 * of them pad blanks, so it is kept as the bytes of its UTF-8 (100 characters are at most 400).
 */
export const ExactTextColumn = (name: string): PropertyDecorator =>
  Column({
    name,
    type: 'varbinary',
    length: 400,
    transformer: {
      to: (text: string | Buffer) => (typeof text === 'string' ? Buffer.from(text, 'utf8') : text),
      from: (bytes: Buffer) => bytes.toString('utf8'),
    },
  });

/** A SHA-256. */
export const DigestColumn = (name: string, options: ColumnOptions = {}): PropertyDecorator =>
  Column({ name, type: 'binary', length: 32, ...options });
