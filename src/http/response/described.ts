import type { FastifySchema } from 'fastify';
import type { TSchema } from 'typebox';
import { defined } from '../../defined.ts';

/**
 * What the OpenAPI document shows of a schema in addition to what validators check. Validators never see it, so that it changes
 * no response.
 */

type Json = Readonly<Record<string, unknown>>;

const names = new WeakMap<object, string>();
const shown = new WeakMap<object, object>();

/** Marks the copy of a component in a parameter: the framework would drop the reference's description and examples. */
const componentMark = 'x-component';

/** Names a schema: the document has it once, in `components.schemas`, and refers to it everywhere else. */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  names.set(schema, name);
  return schema;
}

/**
 * Shows another schema in the document than validators check. It is narrower, because the domain checks the rest: an unknown
 * name in the path is 404, not an invalid request.
 */
export function documentedAs<Schema extends TSchema>(schema: Schema, documented: object): Schema {
  shown.set(schema, documented);
  return schema;
}

/** Exactly one of these schemas. */
export function oneOf(...schemas: readonly TSchema[]): TSchema {
  return { oneOf: schemas } as TSchema;
}

/** Describes schemas for one document, and collects those with a name. */
export class SchemaDescriber {
  readonly #components = new Map<string, { readonly source: object; readonly described: Json }>();

  /** `components.schemas`, ordered by name. */
  components(): Readonly<Record<string, Json>> {
    const entries = [...this.#components].map(([name, { described }]) => [name, described] as const);
    return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** A copy of a JSON Schema, in which schemas with a name are references. */
  describe(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.describe(each));
    if (typeof schema !== 'object' || schema === null) return schema;
    const documented = shown.get(schema);
    if (documented !== undefined) {
      const { description } = schema as Json;
      const described = this.describe(documented) as Json;
      return description === undefined || '$ref' in described ? described : { description, ...described };
    }
    const name = names.get(schema);
    if (name === undefined) return this.#copy(schema as Json);
    this.#add(name, schema);
    return { $ref: reference(name) };
  }

  /** Each property as a parameter. A parameter shows the keywords of a schema with a name: pages then offer its values. */
  describeParameters(schema: unknown): unknown {
    const described = this.describe(schema) as { properties?: Readonly<Record<string, Json>> } | undefined;
    if (described?.properties === undefined) return described;
    const properties = Object.entries(described.properties).map(([name, property]) => {
      const component = this.#components.get(String(property.$ref).slice(reference('').length));
      return [
        name,
        component === undefined ? property : { ...component.described, [componentMark]: property.$ref },
      ];
    });
    return { ...described, properties: Object.fromEntries(properties) };
  }

  #add(name: string, source: object): void {
    const known = this.#components.get(name);
    if (known?.source === source) return;
    const described = this.#copy(source as Json);
    if (known !== undefined && JSON.stringify(known.described) !== JSON.stringify(described))
      throw new Error(`two schemas have the name ${name}`);
    this.#components.set(name, { source, described });
  }

  #copy(schema: Json): Json {
    const literals = stringLiterals(schema.anyOf);
    if (literals !== undefined) {
      const { anyOf: _, ...rest } = schema;
      return { type: 'string', enum: literals, ...rest };
    }
    const entries = Object.entries(schema).map(([keyword, value]) =>
      keyword === 'patternProperties'
        ? ['additionalProperties', this.describe(Object.values(value as object)[0])]
        : [keyword, this.describe(value)],
    );
    return Object.fromEntries(entries);
  }
}

function reference(name: string): string {
  return `#/components/schemas/${name}`;
}

/** The values, if all alternatives are literal strings. */
function stringLiterals(anyOf: unknown): readonly string[] | undefined {
  if (!Array.isArray(anyOf)) return undefined;
  const values = anyOf.map(({ const: value }: Json) => value);
  return values.every((value) => typeof value === 'string') ? values : undefined;
}

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
  const parts = defined({
    params: describer.describeParameters(params),
    querystring: describer.describeParameters(querystring),
    headers: describer.describeParameters(headers),
    body: describer.describe(body),
    response: describer.describe(response),
    [optionalBodyMark]: isBodyOptional || undefined,
  });
  return { ...schema, ...parts } as FastifySchema;
}

/** Marks an operation for `withComponents`: the framework calls every body required. */
const optionalBodyMark = 'x-optional-body';

/** The part of an operation in the document that `withComponents` changes. */
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

/** References to the headers of `shared`. A header that differs from the shared one of the same name stays as it is. */
function sharedHeaders(headers: Record<string, Json>, shared: Record<string, Json>): Record<string, Json> {
  const entries = Object.entries(headers).map(([name, header]): [string, Json] => {
    shared[name] ??= header;
    const isShared = JSON.stringify(shared[name]) === JSON.stringify(header);
    return [name, isShared ? { $ref: `#/components/headers/${name}` } : header];
  });
  return Object.fromEntries(entries);
}
