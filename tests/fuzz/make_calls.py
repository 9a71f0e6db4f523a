#!/usr/bin/env python3
"""Writes calls.c: every function of the public headers, called with arguments at random.

make_calls.py OUTPUT HEADER... A parameter or member of a type that is not known here ends the
build: whoever adds one says what may be drawn for it, in arguments.h.
"""
import re
import sys

# Only inside a handler, or with threads of their own: dispatcher_test.c calls them (and
# tests/conform/set_test.c the last).
LEFT_OUT = {'ph_work_delivery', 'ph_work_cancelled', 'ph_work_wait', 'ph_work_error', 'ph_work_delay',
            'ph_work_tx', 'ph_work_store', 'ph_work_store_id', 'ph_work_settle',
            'ph_dispatcher_start', 'ph_found_add'}
NUMBERS = {'ph_schema_version', 'ph_stream_partition'}  # these return no status
IDS = {'ph_work_id', 'ph_message_id', 'ph_tenant_id', 'ph_owner', 'ph_join_id'}
ENUMS = set()
HANDLES = {  # and what frees them; None: freed at the end, since others borrow them
    'ph_batch': 'ph_batch_free', 'ph_message_info': 'ph_message_info_free',
    'ph_join_info': 'ph_join_info_free', 'ph_work_batch': 'ph_work_batch_free',
    'ph_report': 'ph_report_free', 'ph_messages': 'ph_messages_free',
    'ph_queues': 'ph_queues_free', 'ph_joins': 'ph_joins_free',
    'ph_jobs': 'ph_jobs_free', 'ph_streams': 'ph_streams_free',
    'ph_instances': 'ph_instances_free', 'ph_receptors': 'ph_receptors_free',
    'ph_checkpoints': 'ph_checkpoints_free', 'ph_databases': 'ph_databases_free',
    'ph_served_stores': 'ph_served_stores_free', 'ph_set_report': 'ph_set_report_free', 'char': 'ph_free',
    'ph_dispatcher': None, 'ph_scheduler': None, 'ph_router': None, 'ph_set': None,
    'ph_store': None,
}
END = ['ph_dispatcher', 'ph_scheduler', 'ph_router', 'ph_set', 'ph_store']  # in this order
SCALARS = {'int': 'draw_int()', 'unsigned': '(unsigned)draw_int()', 'int64_t': 'draw_int64()',
           'size_t': 'draw_size()', 'bool': 'draw(2) == 0'}


def squeeze(text):
    return re.sub(r'\s+', ' ', text).strip()


def declared(text):
    """'const char *a, *b' -> [('const char *', 'a'), ('const char *', 'b')]"""
    text = squeeze(text)
    if '(*' in text:
        return [('function', re.search(r'\(\*(\w+)\)', text).group(1))]
    first, *others = text.split(',')
    m = re.match(r'(.*?)(\w+)(\[.*\])?$', first.strip())
    out = [(m.group(1).strip() + (m.group(3) or ''), m.group(2))]
    base = m.group(1).replace('*', '').strip()
    for other in others:
        m2 = re.match(r'(\**)\s*(\w+)$', other.strip())
        out.append(((base + ' ' + m2.group(1)).strip(), m2.group(2)))
    return out


def read(paths):
    text = ''.join(open(path, encoding='utf-8').read() for path in paths)
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    structs, functions = {}, []
    for m in re.finditer(r'typedef struct \{([^}]*(?:\{[^}]*\}[^}]*)*?)\}\s*(ph_\w+);', text, re.S):
        structs[m.group(2)] = [d for part in m.group(1).split(';') if part.strip()
                               for d in declared(part)]
    for m in re.finditer(r'typedef enum \{.*?\}\s*(ph_\w+);', text, re.S):
        ENUMS.add(m.group(1))
    for m in re.finditer(r'PH_API\s+(?:PH_MUST_CHECK\s+)?([^;{}()]*?)\b(ph_\w+)\(([^;]*?)\);', text,
                         re.S):
        parameters = squeeze(m.group(3))
        drawn = [] if parameters == 'void' else [d for p in parameters.split(', ')
                                                 for d in declared(p)]
        functions.append((squeeze(m.group(1)), m.group(2), drawn))
    return structs, functions


def value(kind, name, where):
    """An expression that draws a value of a type; where is for the message."""
    if kind == 'int' and name == 'timeout_ms':
        return 'draw_timeout()'
    if kind in SCALARS:
        return SCALARS[kind]
    if kind in IDS:
        return f'draw_{kind}()'
    if kind == 'ph_priority':
        return 'draw_priority()'
    if kind in ENUMS:
        return f'({kind})draw_choice()'
    if kind in ('const char *', 'char *'):
        return f'draw_text("{name}")'
    if kind in ('void *', 'function') or kind.endswith('_fn'):
        return f'draw_{kind}()' if kind.endswith('_fn') else 'NULL'
    sys.exit(f'make_calls.py: nobody knows what to draw for "{kind} {name}" of {where}')


class Writer:
    def __init__(self, structs, functions):
        self.structs, self.functions, self.lines, self.made = structs, functions, [], []

    def put(self, *lines):
        self.lines += lines

    def need(self, kind):
        """Functions that draw a struct, and arrays of it."""
        if kind in self.made:
            return
        self.made.append(kind)
        members, body = self.structs[kind], []
        for i, (type_, name) in enumerate(members):
            to = f'to->{name}'
            if name == 'size' and i == 0:
                body.append(f'    {to} = draw_struct_size(sizeof(*to), wrong);')
            elif type_ == 'size_t' and name == 'payload_length':
                body.append(f'    {to} = draw_length(to->payload);')
            elif type_ == 'size_t' and name.endswith('_count'):
                continue  # with the array before it
            elif type_ == 'const char *const *':
                body.append(f'    {to} = draw_texts(&to->{members[i + 1][1]});')
            elif self.is_struct_pointer(type_):
                inner = self.struct_of(type_)
                self.need(inner)
                count = members[i + 1][1] if i + 1 < len(members) else ''
                body.append(f'    {to} = draw_{inner}_array(&to->{count});'
                            if count.endswith('_count') else f'    {to} = draw_{inner}_pointer();')
            elif type_ in self.structs and type_ not in IDS:
                self.need(type_)
                body.append(f'    draw_{type_}_in(&{to}, wrong);')
            elif type_.startswith('const ') and self.struct_of(type_) in IDS:
                body.append(f'    {to} = draw_{self.struct_of(type_)}_pointer();')
            else:
                body.append(f'    {to} = {value(type_, name, kind)};')
        self.put(f'static void draw_{kind}_in({kind} *to, bool wrong)', '{', '    (void)wrong;', *body, '}', '')
        self.put(f'DRAW_STRUCT({kind})', '')

    def struct_of(self, type_):
        return type_.replace('const', '').replace('*', '').strip()

    def is_struct_pointer(self, type_):
        inner = self.struct_of(type_)
        return (type_ == f'const {inner} *' and inner in self.structs and inner not in IDS)

    def parameter(self, function, kinds, i):
        """Declarations before the call, the argument, and what is done after it."""
        kind, name = kinds[i]
        inner = self.struct_of(kind)
        later = next((n for k, n in kinds[i + 1:i + 2] if k == 'size_t'), None)
        if kind == 'ph_store *':
            return 'draw_store()', None
        if kind == 'ph_tx':
            return 'draw_tx()', None
        if kind in ('ph_error *', 'const ph_error *'):
            return 'draw_err()', None
        if kind.endswith('[16]') or kind.endswith('[PH_ID_TEXT_SIZE]'):
            return 'draw_bytes(64)', None
        if kind.endswith('[PH_ERROR_MESSAGE_SIZE]'):
            return 'draw_bytes(PH_ERROR_MESSAGE_SIZE)', None
        if inner in HANDLES and kind.endswith('**'):
            return f'draw_result((void *)&got_{inner})', inner
        if inner in HANDLES and kind.endswith('*') and inner != 'char':
            if function == HANDLES[inner]:
                return f'take(POOL_{inner})', None
            return f'look(POOL_{inner})', None
        if self.is_struct_pointer(kind):
            self.need(inner)
            if later:
                return f'draw_{inner}_array(&count)', None
            return f'draw_{inner}_pointer()', None
        if kind.startswith('const ') and inner in IDS:
            return (f'draw_{inner}_array(&count)' if later else f'draw_{inner}_pointer()'), None
        if kind == 'size_t' and name == 'count' and i and kinds[i - 1][0].endswith('*'):
            return 'count', None
        if kind == 'size_t' and name == 'count':
            return 'draw_room(&count)', None
        if kind == f'{inner} *' and self.structs.get(inner, [('', '')])[0][1] == 'size':
            return f'draw_sized(sizeof({inner}))', None
        if kind.endswith('*') and name.startswith('ret_'):
            return f'draw_room_for(count, sizeof({kind[:-1].strip()}))', None
        if kind == 'void *' and function == 'ph_free':
            return 'take(POOL_char)', None
        return value(kind, name, function), None

    def call(self, result, name, kinds):
        drawn = [self.parameter(name, kinds, i) for i in range(len(kinds))]
        got = [g for _, g in drawn if g]
        self.put(f'static void call_{name}(void)', '{', '    size_t count = 1;')
        for inner in got:
            self.put(f'    {inner} *got_{inner} = NULL;')
        for i, (expression, _) in enumerate(drawn):
            kind = kinds[i][0]
            if kind.endswith(']'):
                kind = re.sub(r'\[.*\]', '*', kind)
            self.put(f'    {kind}{"" if kind.endswith("*") else " "}a{i} = {expression};')
        arguments = ', '.join(f'a{i}' for i in range(len(drawn)))
        reterr = next((f'a{i}' for i, k in enumerate(kinds) if k[0] == 'ph_error *'), 'NULL')
        self.put('', '    (void)count;')
        if result == 'int':
            check = 'check_number' if name in NUMBERS else 'check_status'
            self.put(f'    {check}("{name}", {name}({arguments}), {reterr});')
        elif result == 'void':
            self.put(f'    {name}({arguments});')
        else:
            self.put(f'    (void){name}({arguments});')
        for inner in got:
            keep = 'forget' if name.startswith('ph_router_get') else 'keep'
            self.put(f'    {keep}(POOL_{inner}, got_{inner});')
        self.put('}', '')

    def write(self):
        self.put('/* calls.c - made by make_calls.py from the public headers. */', '#include "arguments.h"', '')
        self.put('enum pool {', *[f'    POOL_{k},' for k in HANDLES], '    POOLS', '};', '')
        chosen = [f for f in self.functions if f[1] not in LEFT_OUT and f[1] != 'ph_close' and
                  not any(f[1] == h + '_free' for h in END)]
        for result, name, kinds in chosen:
            self.call(result, name, kinds)
        self.put('const struct fuzz_call fuzz_calls[] = {',
                 *[f'    {{ "{n}", call_{n} }},' for _, n, _ in chosen], '    { NULL, NULL }', '};', '')
        self.put('void fuzz_free(int pool, void *handle)', '{', '    switch (pool) {')
        for kind in HANDLES:
            free = HANDLES[kind] or ('ph_close' if kind == 'ph_store' else kind + '_free')
            self.put(f'    case POOL_{kind}:', f'        {free}(handle);', '        break;')
        self.put('    default:', '        break;', '    }', '}', '')
        self.put('bool fuzz_is_borrowed(int pool)', '{',
                 '    return ' + ' || '.join(f'pool == POOL_{k}' for k in END) + ';', '}', '')
        self.put('const int fuzz_pool_of_stores = POOL_ph_store;')
        self.put('const int fuzz_end[] = { ' + ', '.join(f'POOL_{k}' for k in END) + ', -1 };')
        return '\n'.join(self.lines) + '\n'


structs, functions = read(sys.argv[2:])
with open(sys.argv[1], 'w', encoding='utf-8') as out:
    out.write(Writer(structs, functions).write())
