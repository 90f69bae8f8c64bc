import BackstitchCore
import BackstitchLog

extension LogWriter {
    /// Makes the values of an attribute edits of this device, because they were never pushed: as
    /// though the service had none.
    func markUnsynced(_ place: SchemaAdoption.Place) throws {
        var last: RecordKey?
        repeat {
            let chunk = try reader.liveBodies(of: place.entity, after: last, limit: 1_000)
            last = chunk.last?.key
            for body in chunk {
                guard let row = try reader.row(place.entity, body.key),
                    let value = try row.fields?.value(of: place.field)?.decoded(), value != .null
                else { continue }
                let isUnreadable = row.flags.contains(.isUnreadable)
                beforeWriter.reset()
                afterWriter.reset()
                try beforeWriter.write(.null, of: place.field, keepsNull: true)
                try afterWriter.write(value, of: place.field)
                try appendUpdate(
                    origin: .local, entity: place.entity, key: body.key,
                    previous: row.lastSequence, flags: isUnreadable ? .isUnreadable : [])
            }
        } while last != nil
    }
}
