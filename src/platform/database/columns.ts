import { Column, PrimaryColumn, type ColumnOptions } from 'typeorm';
import { exactCents } from '../values/money.js';

/** The type of a short text of ASCII characters, without its length. */
export const ASCII = { type: 'varchar', charset: 'ascii', collation: 'ascii_bin' } as const;

const UUID = { type: 'char', length: 36, charset: 'ascii', collation: 'ascii_bin' } as const;

export const PrimaryId = (name = 'id'): PropertyDecorator => PrimaryColumn({ name, ...UUID });

export const IdColumn = (name: string, options: ColumnOptions = {}): PropertyDecorator =>
  Column({ name, ...UUID, ...options });

/** Centavos. Values that a double cannot represent exactly throw when they are read. */
export const CentsColumn = (name: string, options: ColumnOptions = {}): PropertyDecorator => {
  const from = (cents: number | null): number | null =>
    cents === null && options.nullable === true ? null : exactCents(cents);
  return Column({ name, type: 'bigint', transformer: { to: (cents: number | null) => cents, from }, ...options });
};

/** An instant in UTC with milliseconds. */
export const InstantColumn = (name: string, options: ColumnOptions = {}): PropertyDecorator =>
  Column({ name, type: 'datetime', precision: 3, ...options });

/** A calendar day, such as `2026-11-20`. It is a text, because drivers convert a DATE to an instant. */
export const DayColumn = (name: string): PropertyDecorator => Column({ name, length: 10, nullable: true, ...ASCII });

/** Yes or no. */
export const BooleanColumn = (name: string, options: ColumnOptions = {}): PropertyDecorator =>
  Column({ name, type: 'tinyint', transformer: { to: Number, from: Boolean }, ...options });

/** A word from a fixed list, such as a status. */
export const WordColumn = (name: string, length = 32): PropertyDecorator => Column({ name, length, ...ASCII });

/**
 * A key that the caller chooses, stored as UTF-8 bytes and compared byte for byte: collations treat `José` and `jose`
 * as equal, and most of them ignore trailing spaces. 100 characters take at most 400 bytes.
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

/** Who made a change (`By`). It has no foreign key: a use case would wait for logins, which lock the user's row. */
export const ByColumn = (name: string, options: ColumnOptions = {}): PropertyDecorator =>
  Column({ name, length: 36, ...ASCII, ...options });

/** A text of the caller, such as a reason; null if there is none. */
export const TextColumn = (name: string, length: number): PropertyDecorator =>
  Column({ name, type: 'varchar', length, nullable: true });

export const DigestColumn = (name: string, options: ColumnOptions = {}): PropertyDecorator =>
  Column({ name, type: 'binary', length: 32, ...options });
