import { ApiProperty } from '@nestjs/swagger';

/** A fault of one member of the request. */
export class ProblemFaultDto {
  /** JSON Pointer into the request body (RFC 6901). */
  readonly pointer?: string;

  /** Name of the query parameter, where the fault is in the query. */
  readonly parameter?: string;

  /** What would be right. */
  readonly detail!: string;
}

/** Every failure, of any origin. (RFC 9457) */
export class ProblemDto {
  /** `urn:problem:cashback:` and the code. */
  readonly type!: string;

  /** What kind of problem this is, the same for every occurrence. */
  readonly title!: string;

  /** The HTTP status. */
  @ApiProperty({ type: 'integer' })
  readonly status!: number;

  /** What went wrong this time. */
  readonly detail!: string;

  /** The path that was asked for. */
  readonly instance!: string;

  /** Stable, for programs. */
  readonly code!: string;

  /** The same as in the header `x-request-id`; the log knows the request by it. */
  readonly request_id!: string;

  /** Whether the same request may succeed a little later. */
  readonly retryable!: boolean;

  /** The faults of the request, all that were found. */
  readonly errors?: ProblemFaultDto[];
}
