import type { FastifySchema } from 'fastify';
import type { TSchema } from 'typebox';
import { componentMark, type SchemaDescriber } from './described.ts';

declare module 'fastify' {
  interface FastifySchema {
    /** Request headers that the document shows and no validator checks. */
    documentedHeaders?: TSchema;
  }
}

/** The schema of a route as the OpenAPI document shows it. */
export function describeOperation(
  { documentedHeaders, ...schema }: FastifySchema,
  isBodyOptional: boolean,
  describer: SchemaDescriber,
): FastifySchema {
  const { params, querystring, headers = documentedHeaders, body, response } = schema;
  const parts = {
    params: describer.describeParameters(params),
    querystring: describer.describeParameters(querystring),
    headers: describer.describeParameters(headers),
    body: describer.describe(body),
    response: describer.describe(response),
  };
  const given = Object.entries(parts).filter(([, part]) => part !== undefined);
  return { ...schema, ...Object.fromEntries(given), ...(isBodyOptional ? { [optionalBodyMark]: true } : {}) };
}

/** Marks an operation for `withComponents`: the framework calls every body required. */
const optionalBodyMark = 'x-optional-body';

type Json = Readonly<Record<string, unknown>>;

/** As much of an operation in the document as `withComponents` changes. */
interface Operation {
  readonly parameters?: { schema?: Json }[];
  readonly requestBody?: { required?: boolean; readonly content: Readonly<Record<string, Media>> };
  [optionalBodyMark]?: true;
  readonly responses: object;
}

interface Media {
  readonly schema: Json;
  example?: unknown;
}

/** The document with its named schemas and headers. Parameters and responses refer to them. */
export function withComponents<Document extends object>(
  document: Document,
  schemas: Readonly<Record<string, Json>>,
): Document {
  const { paths, components } = document as {
    paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    components?: object;
  };
  const headers: Record<string, Json> = {};
  for (const operation of Object.values(paths ?? {}).flatMap(Object.values<Operation>)) {
    const { parameters = [], requestBody, responses } = operation;
    if (operation[optionalBodyMark] && requestBody !== undefined) delete requestBody.required;
    delete operation[optionalBodyMark];
    for (const parameter of parameters) {
      const $ref = parameter.schema?.[componentMark];
      if ($ref !== undefined) parameter.schema = { $ref };
    }
    for (const media of Object.values(requestBody?.content ?? {}) as Media[]) {
      const component = schemas[String(media.schema.$ref).split('/').at(-1) ?? ''];
      const [example] = (component?.examples ?? []) as unknown[];
      if (example !== undefined) media.example = example;
    }
    for (const response of Object.values(responses) as { headers?: Record<string, Json> }[]) {
      if (response.headers !== undefined) response.headers = sharedHeaders(response.headers, headers);
    }
  }
  return { ...document, components: { ...components, headers, schemas } };
}

/** References to the headers of `shared`. A header that is another one under the same name stays as it is. */
function sharedHeaders(headers: Record<string, Json>, shared: Record<string, Json>): Record<string, Json> {
  const entries = Object.entries(headers).map(([name, header]): [string, Json] => {
    shared[name] ??= header;
    const isShared = JSON.stringify(shared[name]) === JSON.stringify(header);
    return [name, isShared ? { $ref: `#/components/headers/${name}` } : header];
  });
  return Object.fromEntries(entries);
}
