-- Sends one request after the other, each for another item, and counts the unexpected responses: errors are fast, so
-- that a figure with errors in it would be worthless.
--
-- Usage: wrk -s requests.lua URL -- METHOD BODY EXPECTED new STREAM [TABLES ITEMS]   items that are not used yet
--        wrk -s requests.lua URL -- METHOD BODY EXPECTED known COUNT SEED            any of the first COUNT items
--
-- In URL and BODY, "iiiiiiiiiiii" stands for an id, "vvvvvv" for a version of the name, and "tttt" for the number of a
-- table: after ITEMS items the load goes on to the next of TABLES.
-- EXPECTED is a part of the body of a correct response, or empty if status 200 or 201 is enough.

local bit = require("bit")

local half = 2 ^ 24
-- The same as in items.ts, so that both sides use the same items.
local multipliers = { 0x9e3779, 0xc2b2af, 0x85ebcb, 0x27d4eb }
local versions = 1000000

-- Globals, because `done` runs outside the thread and reads them by name.
unexpected_count = 0
unexpected_first = ""

local template, fields, expected
local count = 0

local function id_text(index)
  local left, right = math.floor(index / half), index % half
  for round = 1, 4 do
    local multiplier = multipliers[round]
    local mixed = math.floor(((right * multiplier + multiplier) % 2 ^ 40) / 2 ^ 16)
    left, right = right, bit.bxor(left, mixed)
  end
  return string.format("%06x%06x", left, right)
end

local function version_text()
  return string.format("%06d", count % versions)
end

-- The fields in the order of their placeholders in every request: path before body, id before name.
local function fields_of(text, next_id, table_number)
  local found = {}
  if string.find(text, "tttt", 1, true) then
    found[#found + 1] = function()
      return string.format("%04d", table_number())
    end
  end
  if string.find(text, "iiiiiiiiiiii", 1, true) then
    found[#found + 1] = next_id
  end
  if string.find(text, "vvvvvv", 1, true) then
    found[#found + 1] = version_text
  end
  return found
end

function init(arguments)
  local kind, number = arguments[4], tonumber(arguments[5])
  wrk.method = arguments[1]
  if arguments[2] ~= "" then
    wrk.body = arguments[2]
    wrk.headers["Content-Type"] = "application/json"
  end
  expected = arguments[3]

  local next_id
  if kind == "new" then
    next_id = function()
      return id_text(number * half + count)
    end
  else
    math.randomseed(tonumber(arguments[6]))
    next_id = function()
      return id_text(math.random(0, number - 1))
    end
  end
  local tables, items = tonumber(arguments[6]), tonumber(arguments[7])
  local function table_number()
    return math.floor((count - 1) / items) % tables
  end

  -- Formatted once: the load shares the cores with the server and must cost little.
  local text = wrk.format()
  fields = fields_of(text, next_id, table_number)
  template = string.gsub(string.gsub(text, "%%", "%%%%"), "tttt", "%%s")
  template = string.gsub(string.gsub(template, "iiiiiiiiiiii", "%%s"), "vvvvvv", "%%s")
end

function request()
  count = count + 1
  local first, second, third = fields[1], fields[2], fields[3]
  return string.format(template, first(), second and second(), third and third())
end

function response(status, _, body)
  if (status == 200 or status == 201) and (expected == "" or string.find(body, expected, 1, true)) then
    return
  end
  unexpected_count = unexpected_count + 1
  if unexpected_first == "" then
    unexpected_first = status .. " " .. string.gsub(body, "%s+", " ")
  end
end

threads = {}

function setup(thread)
  threads[#threads + 1] = thread
end

function done()
  for _, thread in ipairs(threads) do
    local unexpected = thread:get("unexpected_count")
    if unexpected > 0 then
      print("Unexpected responses: " .. unexpected .. ", the first " .. thread:get("unexpected_first"))
    end
  end
end
