import { ApiProperty } from '@nestjs/swagger';

/** An error in one member of the request. */
export class ProblemFaultDto {
  /** JSON Pointer into the request body (RFC 6901). */
  readonly pointer?: string;

  /** Name of the query parameter, if the error is in the query. */
  readonly parameter?: string;

  /** What is expected. */
  readonly detail!: string;
}

/** An error. (RFC 9457) */
export class ProblemDto {
  /** `urn:problem:cashback:` followed by the code. */
  readonly type!: string;

  /** Summary of the problem type, the same for every occurrence. */
  readonly title!: string;

  /** HTTP status code. */
  @ApiProperty({ type: 'integer' })
  readonly status!: number;

  /** Explanation of this occurrence. */
  readonly detail!: string;

  /** The path of the request. */
  readonly instance!: string;

  /** Stable identifier of the problem type, for programs. */
  readonly code!: string;

  /** The ID of the request, as in the `x-request-id` header and in the logs. */
  readonly request_id!: string;

  /** Whether the same request may succeed if you retry it later. */
  readonly retryable!: boolean;

  /** All validation errors of the request. */
  readonly errors?: ProblemFaultDto[];
}
