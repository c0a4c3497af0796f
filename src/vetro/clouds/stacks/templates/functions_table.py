"""Which functions a template may call: by its dialect, and in conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vetro.clouds.stacks.templates import functions as names
from vetro.clouds.stacks.templates import functions_cfn as cfn
from vetro.clouds.stacks.templates import functions_text as text

Function = Callable[[Any, Any], Any]

#: Functions of HOT, by the name that templates use.
HOT: Mapping[str, Function] = {
    "get_param": names.get_param,
    "get_resource": names.get_resource,
    "get_attr": names.get_attr,
    "get_file": names.get_file,
    "resource_facade": names.resource_facade,
    "if": names.choose,
    "equals": names.equals,
    "not": names.negate,
    "and": names.both,
    "or": names.either,
    "str_replace": text.str_replace,
    "str_replace_strict": text.str_replace_strict,
    "str_replace_vstrict": text.str_replace_vstrict,
    "list_join": text.list_join,
    "str_split": text.str_split,
    "repeat": text.repeat,
    "digest": text.digest,
    "map_merge": text.map_merge,
    "map_replace": text.map_replace,
    "list_concat": text.list_concat,
    "list_concat_unique": text.list_concat_unique,
    "contains": text.contains,
    "filter": text.remove,
    "make_url": text.make_url,
    # HOT of 2013 and 2014 knows this one of CFN.
    "Fn::Select": cfn.select,
}

CFN: Mapping[str, Function] = {
    "Ref": cfn.ref,
    "Fn::GetAtt": cfn.get_att,
    "Fn::Join": cfn.join,
    "Fn::Select": cfn.select,
    "Fn::Base64": cfn.base64_text,
    "Fn::Replace": cfn.replace,
    "Fn::Split": cfn.split,
    "Fn::FindInMap": cfn.find_in_map,
    "Fn::GetAZs": cfn.zones,
    "Fn::ResourceFacade": names.resource_facade,
    "Fn::If": names.choose,
    "Fn::Equals": names.equals,
    "Fn::Not": names.negate,
    "Fn::And": names.both,
    "Fn::Or": names.either,
}
